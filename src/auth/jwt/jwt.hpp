// A JWT by its form: `header.claims.signature`, signed, compact (RFC 7515, 7519). Nothing is verified here. No I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::auth {

constexpr std::size_t longest_jwt = 8192;
constexpr std::size_t longest_key_id = 256;

enum class JwtAlgorithm { hs256, rs256, es256 };

std::string_view to_string(JwtAlgorithm algorithm);
// nullopt for every other name, `none` among them.
std::optional<JwtAlgorithm> parse_algorithm(std::string_view name);

struct Jwt {
  JwtAlgorithm algorithm;  // what the token says of itself: never changes how a key is used
  std::optional<std::string> key_id;
  std::string claims;  // JSON text, to be read after the signature was found good
  std::string signed_part;
  std::string signature;
};

// Rejected: more than three parts or an empty part, anything but strict base64url, a header that is not a JSON object,
// has a duplicate key, another algorithm or a type other than JWT, and anything marked critical. Keys in the header
// (`jwk`, `jku`, `x5c`, …) are never used.
Result<Jwt> parse_jwt(std::string_view text);

}  // namespace cloche::auth
