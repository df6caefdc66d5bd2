// Any bytes as a JWT, as claims and as a JWKS: no crash, and a text that is taken has one reading only.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "auth/jwt/jwt.hpp"
#include "auth/jwt/jwt_claims.hpp"
#include "auth/jwt/jwt_keys.hpp"
#include "auth/names.hpp"
#include "core/base64.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cloche;
  using namespace cloche::auth;
  static const ClaimRules rules{.issuer = "id", .audience = "cloche"};
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  if (const auto jwt = parse_jwt(text)) {
    if (text.size() > longest_jwt) std::abort();
    if (jwt->signed_part + "." + encode_base64url(jwt->signature) != text) std::abort();
    const std::size_t dot = jwt->signed_part.find('.');
    if (encode_base64url(jwt->claims) != jwt->signed_part.substr(dot + 1)) std::abort();
    (void)principal_of(jwt->claims, rules, WallTime{std::chrono::seconds{1'900'000'000}}, "id");
  }
  if (const auto principal = principal_of(text, rules, WallTime{std::chrono::seconds{1'900'000'000}}, "id")) {
    if (!is_valid_name(principal->tenant) || !is_valid_name(principal->token_id)) std::abort();
  }
  const GuardedFile file{.content = std::string(text), .stamp = {}};
  for (const KeyForm form : {KeyForm::jwks, KeyForm::pem, KeyForm::secret}) {
    const auto keys = JwtKeys::parse(file, form);
    if (!keys) continue;
    for (const auto algorithm : {JwtAlgorithm::hs256, JwtAlgorithm::rs256, JwtAlgorithm::es256}) {
      if (const JwtKey* key = keys->find(algorithm, {})) {
        if (key->algorithm() != algorithm) std::abort();
        const Jwt unsigned_jwt{
            .algorithm = algorithm, .key_id = {}, .claims = {}, .signed_part = "a.b", .signature = "s"};
        if (key->verifies(unsigned_jwt)) std::abort();
      }
    }
  }
  return 0;
}
