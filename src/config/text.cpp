#include "config/text.hpp"

#include <cstdint>
#include <cstdio>

namespace cloche::config {

namespace {

std::uint32_t byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

// The length of the character at the start, or 0 when it is not UTF-8.
std::size_t character_length(std::string_view text) {
  const std::uint32_t first = byte_at(text, 0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
  }
  const std::uint32_t second = byte_at(text, 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool too_large = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

bool is_control(std::uint32_t c) { return c < 0x20 || c == 0x7f; }

std::string hex_byte(std::uint32_t byte) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%02x", byte);
  return text;
}

}  // namespace

std::optional<BadCharacter> first_bad_character(std::string_view text) {
  int line = 1;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::uint32_t first = byte_at(text, 0);
    if (length == 0) return BadCharacter{line, "not UTF-8: byte " + hex_byte(first)};
    if (first == '\n') ++line;
    if (is_control(first) && first != '\n' && first != '\r' && first != '\t') {
      return BadCharacter{line, first == 0 ? "NUL byte" : "control character " + hex_byte(first)};
    }
    text.remove_prefix(length);
  }
  return std::nullopt;
}

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string out;
  while (!text.empty()) {
    if (out.size() >= longest) {
      out += "…";
      break;
    }
    const std::size_t length = character_length(text);
    if (length == 0 || is_control(byte_at(text, 0))) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte_at(text, 0));
      out += escaped;
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

std::string shown(std::string_view text) { return "`" + printable(text) + "`"; }

}  // namespace cloche::config
