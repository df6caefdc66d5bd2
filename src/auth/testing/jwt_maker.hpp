// For tests: keys, and JWTs signed with them, created by OpenSSL only. Nothing here shares code with the verification,
// except the base64url encoder.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

namespace cloche::auth::testing {

using KeyPair = std::shared_ptr<EVP_PKEY>;

KeyPair make_rsa(unsigned bits = 2048);
KeyPair make_ec(const char* curve = "P-256");

std::string public_pem(const KeyPair& key);
std::string private_pem(const KeyPair& key);

// The public half as in a JWKS; `more` is put before the other members: `"kid":"a",`.
std::string rsa_jwk(const KeyPair& key, std::string_view more = "");
std::string ec_jwk(const KeyPair& key, std::string_view more = "");
std::string oct_jwk(std::string_view secret, std::string_view more = "");
std::string jwks(std::initializer_list<std::string> keys);

std::string hs256_signature(std::string_view secret, std::string_view signed_part);
std::string rs256_signature(const KeyPair& key, std::string_view signed_part);
// r and s, 32 bytes each, as JWTs want it; and in DER, as they do not.
std::string es256_signature(const KeyPair& key, std::string_view signed_part);
std::string es256_der_signature(const KeyPair& key, std::string_view signed_part);

// `header.claims`, encoded, to be signed.
std::string signed_part(std::string_view header, std::string_view claims);
std::string with_signature(std::string_view signed_part, std::string_view signature);

// Whole tokens.
std::string hs256_jwt(std::string_view secret, std::string_view claims,
                      std::string_view header = R"({"alg":"HS256","typ":"JWT"})");
std::string rs256_jwt(const KeyPair& key, std::string_view claims,
                      std::string_view header = R"({"alg":"RS256","typ":"JWT"})");
std::string es256_jwt(const KeyPair& key, std::string_view claims,
                      std::string_view header = R"({"alg":"ES256","typ":"JWT"})");

}  // namespace cloche::auth::testing
