// Base64, strict: each byte string has exactly one text. Blanks, stray bits, padding that is missing or in the middle,
// and the other alphabet are refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cloche {

// RFC 4648, section 4: '+' and '/', padded to a multiple of four characters.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

// RFC 4648, section 5, as JWTs and JWKs use it: '-' and '_', without padding.
std::optional<std::string> decode_base64url(std::string_view text);
std::string encode_base64url(std::string_view bytes);

}  // namespace cloche
