// UTF-8 from bytes that may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cloche {

bool is_utf8(std::string_view bytes);

// The same text with U+FFFD in the place of each byte that belongs to no character.
std::string to_utf8(std::string_view bytes);

// How many bytes at the end may be the start of a character that is not all there yet: 0 to 3.
std::size_t incomplete_tail(std::string_view bytes);

struct Character {
  std::uint32_t code = 0;  // a code point or, for an invalid byte, invalid_byte + the byte
  std::size_t length = 0;  // in bytes
};
constexpr std::uint32_t invalid_byte = 0x110000;

// The first character. The text must not be empty.
Character first_character(std::string_view text);

}  // namespace cloche
