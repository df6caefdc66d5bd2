#include "archive/tar_extensions.hpp"

#include <charconv>
#include <limits>

namespace cloche::tar {

namespace {

std::unexpected<Error> malformed(const char* what) {
  return fail(ErrorCode::invalid_argument, std::string("malformed pax header: ") + what);
}

// All of the text is one decimal number.
template <class Number>
std::optional<Number> decimal(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Time {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
};

// "-1.25" is 1.25 s before the epoch: -2 s and 750 ms.
std::optional<Time> time_of(std::string_view text) {
  const auto dot = text.find('.');
  const auto seconds = decimal<std::int64_t>(text.substr(0, dot));
  if (!seconds) return std::nullopt;
  Time time{.seconds = *seconds};
  std::uint32_t weight = 100'000'000;
  for (const char digit : dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    time.nanoseconds += weight * static_cast<std::uint32_t>(digit - '0');
    weight /= 10;
  }
  if (text.starts_with('-') && time.nanoseconds != 0) {
    if (time.seconds == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
    --time.seconds;
    time.nanoseconds = 1'000'000'000 - time.nanoseconds;
  }
  return time;
}

std::string until_nul(std::string_view content) { return std::string(content.substr(0, content.find('\0'))); }

}  // namespace

Status Extensions::add_pax(std::string_view records) {
  // Each is "<length> <key>=<value>\n", the length counting all of it.
  while (!records.empty()) {
    const auto space = records.find(' ');
    if (space == std::string_view::npos) return malformed("record without a length");
    const auto length = decimal<std::size_t>(records.substr(0, space));
    if (!length || *length <= space + 1 || *length > records.size()) return malformed("record with a wrong length");
    auto record = records.substr(space + 1, *length - space - 1);
    records.remove_prefix(*length);
    if (!record.ends_with('\n')) return malformed("record without an end");
    record.remove_suffix(1);
    const auto equals = record.find('=');
    if (equals == std::string_view::npos || equals == 0) return malformed("record without a key");
    CLOCHE_CHECK(add_record(record.substr(0, equals), record.substr(equals + 1)));
  }
  return {};
}

Status Extensions::add_record(std::string_view key, std::string_view value) {
  if (key.starts_with("GNU.sparse."))
    return fail(ErrorCode::unsupported, "sparse files in an archive are not supported");
  if (key == "path") {
    if (value.empty())
      path.reset();
    else
      path = value;
  } else if (key == "linkpath") {
    if (value.empty())
      link.reset();
    else
      link = value;
  } else if (key == "size") {
    size = decimal<std::uint64_t>(value);
    if (!size || *size > std::numeric_limits<std::int64_t>::max()) return malformed("size");
  } else if (key == "mtime") {
    const auto time = time_of(value);
    if (!time) return malformed("mtime");
    mtime = time->seconds;
    mtime_ns = time->nanoseconds;
  }
  return {};
}

void Extensions::add_gnu_path(std::string_view content) { gnu_path = until_nul(content); }
void Extensions::add_gnu_link(std::string_view content) { gnu_link = until_nul(content); }

}  // namespace cloche::tar
