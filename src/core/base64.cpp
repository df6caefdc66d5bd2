#include "core/base64.hpp"

#include <array>
#include <cstdint>

namespace cloche {

namespace {

class Alphabet {
 public:
  consteval Alphabet(char c62, char c63) {
    for (std::size_t i = 0; i < 26; ++i) {
      letters_[i] = static_cast<char>('A' + i);
      letters_[26 + i] = static_cast<char>('a' + i);
    }
    for (std::size_t i = 0; i < 10; ++i) letters_[52 + i] = static_cast<char>('0' + i);
    letters_[62] = c62;
    letters_[63] = c63;
    values_.fill(-1);
    for (std::size_t i = 0; i < 64; ++i) values_[static_cast<unsigned char>(letters_[i])] = static_cast<std::int8_t>(i);
  }

  char letter(std::uint32_t value) const { return letters_[value & 63]; }
  // -1 for a character that is not in the alphabet.
  int value(char letter) const { return values_[static_cast<unsigned char>(letter)]; }

 private:
  std::array<char, 64> letters_{};
  std::array<std::int8_t, 256> values_{};
};

constexpr Alphabet standard('+', '/');
constexpr Alphabet of_urls('-', '_');

// Without padding.
std::optional<std::string> decode(const Alphabet& alphabet, std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t pending = 0;
  int bits = 0;
  for (const char c : text) {
    const int value = alphabet.value(c);
    if (value < 0) return std::nullopt;
    pending = (pending << 6) | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>((pending >> bits) & 0xff);
      pending &= (1U << bits) - 1;
    }
  }
  // Bits that belong to no byte must be zero, or one byte string would have several texts.
  if (pending != 0) return std::nullopt;
  return bytes;
}

std::string encode(const Alphabet& alphabet, std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t pending = 0;
  int bits = 0;
  for (const char c : bytes) {
    pending = (pending << 8) | static_cast<unsigned char>(c);
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      text += alphabet.letter(pending >> bits);
      pending &= (1U << bits) - 1;
    }
  }
  if (bits > 0) text += alphabet.letter(pending << (6 - bits));
  return text;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  return decode(standard, text);
}

std::string encode_base64(std::string_view bytes) {
  std::string text = encode(standard, bytes);
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::optional<std::string> decode_base64url(std::string_view text) { return decode(of_urls, text); }

std::string encode_base64url(std::string_view bytes) { return encode(of_urls, bytes); }

}  // namespace cloche
