// From the claims of a JWT with a valid signature to a principal. No I/O.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "auth/auth_error.hpp"
#include "auth/principal.hpp"
#include "core/clock.hpp"

namespace cloche::auth {

struct ClaimRules {
  // Both are required: otherwise every token signed with the same keys for another service would be valid here.
  std::string issuer;    // `iss` must be this
  std::string audience;  // `aud` must be this, or an array that holds it
  std::string tenant_claim = "tenant";
  std::string role_claim = "role";  // `user` or `admin`; a token without it is a user's
  std::chrono::seconds leeway{30};  // how far the issuer's clock may be from ours
};

// `invalid_argument` when a rule makes no sense.
Status check_rules(const ClaimRules& rules);

// `exp`, `iss`, `aud` and the tenant must be there; `nbf` and `iat` are obeyed when they are. `token_id` is the token's
// `jti` where that is a name, else the caller's `fallback_id`.
Authenticated<Principal> principal_of(std::string_view claims, const ClaimRules& rules, WallTime now,
                                      std::string_view fallback_id);

}  // namespace cloche::auth
