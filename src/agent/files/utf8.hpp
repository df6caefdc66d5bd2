// Characters in bytes that may or may not be UTF-8, as file names are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cloche::agent {

struct Character {
  std::uint32_t code = 0;  // a code point or, for an invalid byte, invalid_byte + the byte
  std::size_t length = 0;  // in bytes
};
constexpr std::uint32_t invalid_byte = 0x110000;

// The first character. The text must not be empty.
Character first_character(std::string_view text);

}  // namespace cloche::agent
