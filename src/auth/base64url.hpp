// Base64 with the alphabet of URLs and without padding, as JWTs and JWKs use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cloche::auth {

// Strict: each byte string has exactly one text. Padding, blanks, other alphabets and stray bits are refused.
std::optional<std::string> decode_base64url(std::string_view text);
std::string encode_base64url(std::string_view bytes);

}  // namespace cloche::auth
