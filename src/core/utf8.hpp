// UTF-8 from bytes that may be anything.
#pragma once

#include <string>
#include <string_view>

namespace cloche {

bool is_utf8(std::string_view bytes);

// The same text with U+FFFD in the place of each byte that belongs to no character.
std::string to_utf8(std::string_view bytes);

// How many bytes at the end may be the start of a character that is not all there yet: 0 to 3.
std::size_t incomplete_tail(std::string_view bytes);

}  // namespace cloche
