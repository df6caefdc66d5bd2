#include "http/server/request/byte_range.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "http/grammar.hpp"

namespace cloche::http {

namespace {

// A number that is too large for us is larger than any size, which is all that matters.
std::optional<std::uint64_t> parse_number(std::string_view text) {
  if (text.empty() || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

WantedBytes parse_range(std::string_view value, std::uint64_t size) {
  constexpr std::string_view unit = "bytes=";
  if (!same_word(value.substr(0, unit.size()), unit)) return WholeContent{};
  const std::string_view range = without_blanks_around(value.substr(unit.size()));
  const auto dash = range.find('-');
  if (dash == std::string_view::npos) return WholeContent{};
  const auto first = parse_number(range.substr(0, dash));
  const auto last = parse_number(range.substr(dash + 1));
  if (dash == 0) {  // the last so many
    if (!last) return WholeContent{};
    const std::uint64_t length = std::min(*last, size);
    if (length == 0) return UnsatisfiableRange{};
    return ByteRange{size - length, length};
  }
  const bool open_end = dash + 1 == range.size();
  if (!first || (!last && !open_end) || (last && *last < *first)) return WholeContent{};
  if (*first >= size) return UnsatisfiableRange{};
  const std::uint64_t end = last ? std::min(*last, size - 1) : size - 1;
  return ByteRange{*first, end - *first + 1};
}

std::string content_range(const ByteRange& range, std::uint64_t size) {
  return "bytes " + std::to_string(range.first) + "-" + std::to_string(range.first + range.length - 1) + "/" +
         std::to_string(size);
}

std::string unsatisfied_range(std::uint64_t size) { return "bytes */" + std::to_string(size); }

}  // namespace cloche::http
