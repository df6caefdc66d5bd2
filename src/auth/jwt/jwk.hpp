// One key of a JWKS (RFC 7517, 7518).
#pragma once

#include <boost/json/object.hpp>
#include <optional>

#include "auth/jwt/jwt_key.hpp"

namespace cloche::auth {

// nullopt for a key that is not for us: another kind, curve or algorithm, or not for signatures. An error for one that
// is, but is weak, damaged, or holds the private half.
Result<std::optional<JwtKey>> parse_jwk(const boost::json::object& jwk);

}  // namespace cloche::auth
