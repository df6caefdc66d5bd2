// Letters and hexadecimal digits: what is needed of text in many places. Only ASCII letters have a case here, whatever
// the locale.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace cloche {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

inline std::string lower(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), [](char c) { return lower(c); });
  return lowered;
}

// Equal except for the case of letters.
constexpr bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

inline constexpr std::string_view hex_digits = "0123456789abcdef";

inline void append_hex(std::string& to, unsigned char byte) {
  to += hex_digits[byte >> 4];
  to += hex_digits[byte & 0xf];
}

// Two digits for each byte.
inline std::string to_hex(std::string_view bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char byte : bytes) append_hex(hex, static_cast<unsigned char>(byte));
  return hex;
}

}  // namespace cloche
