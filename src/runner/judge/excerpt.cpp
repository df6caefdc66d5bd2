#include "runner/judge/excerpt.hpp"

#include <array>
#include <cstdint>

#include "core/text.hpp"

namespace cloche::runner {

namespace {

// The number of bytes of the first UTF-8 character; 0 if it is invalid.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    if (!continues(1) || !continues(2)) return 0;
    const bool overlong = first == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = first == 0xed && byte(1) >= 0xa0;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    const bool overlong = first == 0xf0 && byte(1) < 0x90;
    const bool too_large = first == 0xf4 && byte(1) >= 0x90;
    return overlong || too_large ? 0 : 4;
  }
  return 0;
}

void append_escaped(std::string& to, char c) {
  to += "\\x";
  append_hex(to, static_cast<unsigned char>(c));
}

bool is_control(char c) { return static_cast<std::uint8_t>(c) < 0x20 || c == 0x7f; }

enum class Breaks { escaped, kept };

// Stops at a character's end, so that what is cut is still UTF-8. True when all of it fitted.
bool append_clean(std::string& to, std::string_view text, std::size_t most, Breaks breaks) {
  const std::size_t end = to.size() + most;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const bool is_kept_break = breaks == Breaks::kept && (text[0] == '\n' || text[0] == '\t');
    const bool plain = length > 1 || (length == 1 && (!is_control(text[0]) || is_kept_break));
    if (to.size() + (plain ? length : 4) > end) return false;
    if (plain) {
      to += text.substr(0, length);
      text.remove_prefix(length);
    } else {
      append_escaped(to, text[0]);
      text.remove_prefix(1);
    }
  }
  return true;
}

}  // namespace

std::string excerpt(std::string_view text, std::size_t most) {
  std::string result = "`";
  const bool whole = append_clean(result, text, most, Breaks::escaped);
  return result += whole ? "`" : "…`";
}

std::string readable(std::string_view text, std::size_t most) {
  std::string result;
  if (!append_clean(result, text, most, Breaks::kept)) result += "…";
  return result;
}

}  // namespace cloche::runner
