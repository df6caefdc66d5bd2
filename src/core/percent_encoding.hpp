// Percent-encoding, as parts of a URL need it.
#pragma once

#include <string>
#include <string_view>

namespace cloche {

constexpr bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

// All but letters, digits and `-._~`, with upper-case digits.
inline std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += digits[byte >> 4];
      encoded += digits[byte & 0xf];
    }
  }
  return encoded;
}

}  // namespace cloche
