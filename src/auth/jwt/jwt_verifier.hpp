// JwtVerifier: from the text of a JWT to a principal, with keys from a file that may change.
#pragma once

#include <string>
#include <string_view>

#include "auth/jwt/jwt_claims.hpp"
#include "auth/jwt/jwt_keys.hpp"
#include "auth/watched_file.hpp"
#include "core/clock.hpp"

namespace cloche::auth {

struct JwtOptions {
  std::string key_file;
  KeyForm key_form = KeyForm::jwks;
  ClaimRules claims;
};

class JwtVerifier {
 public:
  // Checks the rules and reads the keys once, so that a bad configuration is found at the start.
  static Result<JwtVerifier> open(JwtOptions options, Clocks clocks);

  // Earlier checks hide later ones: form, key and signature, then the claims.
  Authenticated<Principal> verify(std::string_view text);

 private:
  JwtVerifier(JwtOptions options, Clocks clocks);

  ClaimRules rules_;
  Clocks clocks_;
  WatchedFile<JwtKeys> keys_;
};

}  // namespace cloche::auth
