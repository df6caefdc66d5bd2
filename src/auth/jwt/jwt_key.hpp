// JwtKey: one key that JWTs are verified with. The key decides the algorithm, never the token.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

#include "auth/jwt/jwt.hpp"
#include "core/result.hpp"

namespace cloche::auth {

using PublicKey = std::shared_ptr<EVP_PKEY>;

class JwtKey {
 public:
  static constexpr std::size_t least_secret_bytes = 32;
  static constexpr std::size_t most_secret_bytes = 1024;
  static constexpr int least_rsa_bits = 2048;
  static constexpr int most_rsa_bits = 8192;  // a check of a longer one takes long enough to be a weapon

  // HS256. A secret shorter than its digest can be guessed from one token.
  static Result<JwtKey> from_secret(std::string secret);
  // RS256 for RSA, ES256 for P-256; other kinds, weak and inconsistent keys are refused.
  static Result<JwtKey> from_public_key(PublicKey key);
  // One block `PUBLIC KEY`. A private key is refused: it has no business on a server that only verifies.
  static Result<JwtKey> from_pem(std::string_view pem);

  JwtAlgorithm algorithm() const { return algorithm_; }

  // Whether the token's algorithm is this key's and its signature is by this key.
  bool verifies(const Jwt& jwt) const;

 private:
  JwtKey(JwtAlgorithm algorithm, std::string secret, PublicKey key);

  JwtAlgorithm algorithm_;
  std::string secret_;  // of HS256
  PublicKey key_;       // of the others
};

}  // namespace cloche::auth
