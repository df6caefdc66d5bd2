#include "http/server/request/target.hpp"

#include <algorithm>
#include <cstdint>

#include "http/server/request/hex_digit.hpp"

namespace cloche::http {

namespace {

// The number of bytes of the first character; 0 if it is invalid.
std::size_t character_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) -> std::uint32_t { return static_cast<unsigned char>(bytes[i]); };
  const auto lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes.size() < length) return 0;
  std::uint32_t point = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0U) != 0x80) return 0;
    point = (point << 6) | (at(i) & 0x3fU);
  }
  const bool too_long_a_form = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool no_character = (point >= 0xd800 && point <= 0xdfff) || point > 0x10ffff;
  return too_long_a_form || no_character ? 0 : length;
}

bool is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    if (length == 0 || bytes.front() == '\0') return false;
    bytes.remove_prefix(length);
  }
  return true;
}

enum class Plus { stays, is_blank };

OrRequestError<std::string> decode(std::string_view text, Plus plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == Plus::is_blank) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) return refuse(400, "percent sign without two hexadecimal digits");
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  if (!is_text(decoded)) return refuse(400, "the request target is not UTF-8 or contains NUL");
  return decoded;
}

}  // namespace

OrRequestError<Target> split_target(std::string_view text) {
  const bool printable = std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '#'; });
  if (!printable) return refuse(400, "invalid path");
  Target target;
  const auto question = std::min(text.find('?'), text.size());
  target.path = question == 0 ? "/" : text.substr(0, question);
  target.query = text.substr(std::min(question + 1, text.size()));
  return target;
}

OrRequestError<Target> parse_target(std::string_view text) {
  if (!text.starts_with('/') && text != "*") return refuse(400, "invalid path");
  auto target_or_error = split_target(text);
  if (!target_or_error) return std::unexpected(std::move(target_or_error).error());
  Target target = std::move(*target_or_error);
  if (text == "*") return target;
  std::string_view rest = std::string_view(target.path).substr(1);
  for (;;) {
    const auto slash = rest.find('/');
    auto segment = decode(rest.substr(0, slash), Plus::stays);
    if (!segment) return std::unexpected(std::move(segment).error());
    if (*segment == "." || *segment == "..") return refuse(400, "path contains a dot segment");
    target.segments.push_back(std::move(*segment));
    if (slash == std::string_view::npos) return target;
    rest.remove_prefix(slash + 1);
  }
}

std::size_t Query::count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(items_, [&](const auto& item) { return item.first == name; }));
}

std::optional<std::string_view> Query::find(std::string_view name) const {
  const auto found = std::ranges::find_if(items_, [&](const auto& item) { return item.first == name; });
  if (found == items_.end()) return std::nullopt;
  return found->second;
}

OrRequestError<Query> parse_query(std::string_view text) {
  Query::Items items;
  while (!text.empty()) {
    const auto end = std::min(text.find('&'), text.size());
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (item.empty()) continue;
    const auto equals = std::min(item.find('='), item.size());
    auto name = decode(item.substr(0, equals), Plus::is_blank);
    if (!name) return std::unexpected(std::move(name).error());
    auto value = decode(item.substr(std::min(equals + 1, item.size())), Plus::is_blank);
    if (!value) return std::unexpected(std::move(value).error());
    items.emplace_back(std::move(*name), std::move(*value));
  }
  return Query(std::move(items));
}

}  // namespace cloche::http
