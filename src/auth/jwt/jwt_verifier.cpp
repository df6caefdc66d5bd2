#include "auth/jwt/jwt_verifier.hpp"

#include "auth/jwt/jwt.hpp"
#include "crypto/sha256.hpp"

namespace cloche::auth {

JwtVerifier::JwtVerifier(JwtOptions options, Clocks clocks)
    : rules_(std::move(options.claims)),
      clocks_(std::move(clocks)),
      keys_(
          std::move(options.key_file), key_file_rule,
          [form = options.key_form](const GuardedFile& file) { return JwtKeys::parse(file, form); }, clocks_.steady) {}

Result<JwtVerifier> JwtVerifier::open(JwtOptions options, Clocks clocks) {
  CLOCHE_CHECK(check_rules(options.claims));
  JwtVerifier verifier(std::move(options), std::move(clocks));
  if (auto keys = verifier.keys_.get(); !keys) return fail(std::move(keys).error().at("read JWT keys"));
  return verifier;
}

Authenticated<Principal> JwtVerifier::verify(std::string_view text) {
  const auto keys = keys_.get();
  if (!keys) return refuse(Reason::unavailable, "read JWT keys: " + keys.error().message);
  const auto jwt = parse_jwt(text);
  if (!jwt) return refuse(Reason::malformed, jwt.error().message);
  const JwtKey* key = (*keys)->find(jwt->algorithm, jwt->key_id);
  if (!key || !key->verifies(*jwt)) return refuse(Reason::unknown);
  // For the log: which token it was, if it does not contain an id.
  const std::string fallback_id = "jwt-" + to_hex(sha256(jwt->signed_part)).substr(0, 16);
  return principal_of(jwt->claims, rules_, clocks_.wall(), fallback_id);
}

}  // namespace cloche::auth
