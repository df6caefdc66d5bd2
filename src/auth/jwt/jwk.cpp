#include "auth/jwt/jwk.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "core/base64.hpp"
#include "crypto/openssl_errors.hpp"
#include "json/members.hpp"
#include "json/strict_json.hpp"

namespace cloche::auth {

namespace {

namespace json = boost::json;

using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)>;
using Parameters = std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)>;

constexpr std::size_t p256_bytes = 32;
constexpr std::size_t most_exponent_bytes = 8;

std::unexpected<Error> bad(std::string_view what) { return fail(ErrorCode::invalid_argument, std::string(what)); }

Result<std::string> bytes_member(const json::object& jwk, std::string_view name) {
  const auto text = text_member(jwk, name);
  auto bytes = text ? decode_base64url(*text) : std::nullopt;
  if (!bytes || bytes->empty()) return bad("`" + std::string(name) + "` is missing or is not base64url");
  return *std::move(bytes);
}

PublicKey key_from(const char* kind, OSSL_PARAM_BLD* builder) {
  const Parameters parameters(OSSL_PARAM_BLD_to_param(builder), &OSSL_PARAM_free);
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr), &EVP_PKEY_CTX_free);
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    key = nullptr;
  }
  return {key, &EVP_PKEY_free};
}

Number number_of(std::string_view bytes) {
  return {BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()), nullptr),
          &BN_free};
}

Result<JwtKey> rsa_key(const json::object& jwk) {
  CLOCHE_TRY(const std::string modulus, bytes_member(jwk, "n"));
  CLOCHE_TRY(const std::string exponent, bytes_member(jwk, "e"));
  if (modulus.size() > JwtKey::most_rsa_bits / 8 + 1) return bad("RSA key of more than 8192 bits");
  if (exponent.size() > most_exponent_bytes) return bad("RSA key with an exponent of more than 64 bits");
  const OpensslErrorsDropped quiet;
  const Number n = number_of(modulus);
  const Number e = number_of(exponent);
  const Builder builder(OSSL_PARAM_BLD_new(), &OSSL_PARAM_BLD_free);
  if (!n || !e || !builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
    return bad("RSA key rejected by OpenSSL");
  }
  PublicKey key = key_from("RSA", builder.get());
  if (!key) return bad("invalid RSA key");
  return JwtKey::from_public_key(std::move(key));
}

Result<JwtKey> p256_key(const json::object& jwk) {
  CLOCHE_TRY(const std::string x, bytes_member(jwk, "x"));
  CLOCHE_TRY(const std::string y, bytes_member(jwk, "y"));
  if (x.size() != p256_bytes || y.size() != p256_bytes) return bad("`x` and `y` must have 32 bytes each");
  const std::string point = '\x04' + x + y;
  const OpensslErrorsDropped quiet;
  const Builder builder(OSSL_PARAM_BLD_new(), &OSSL_PARAM_BLD_free);
  if (!builder ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, SN_X9_62_prime256v1, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) != 1) {
    return bad("EC key rejected by OpenSSL");
  }
  PublicKey key = key_from("EC", builder.get());
  if (!key) return bad("invalid EC key: the point is not on the curve");
  return JwtKey::from_public_key(std::move(key));
}

bool is_for_signatures(const json::object& jwk) {
  if (jwk.contains("use") && text_member(jwk, "use") != "sig") return false;
  const json::value* operations = jwk.if_contains("key_ops");
  if (!operations) return true;
  const json::array* names = operations->if_array();
  return names && std::ranges::any_of(*names, [](const json::value& name) {
           return name.is_string() && name.get_string() == "verify";
         });
}

std::optional<JwtAlgorithm> algorithm_of(const json::object& jwk) {
  const auto kind = text_member(jwk, "kty");
  if (kind == "oct") return JwtAlgorithm::hs256;
  if (kind == "RSA") return JwtAlgorithm::rs256;
  if (kind == "EC" && text_member(jwk, "crv") == "P-256") return JwtAlgorithm::es256;
  return std::nullopt;
}

}  // namespace

Result<std::optional<JwtKey>> parse_jwk(const json::object& jwk) {
  if (!text_member(jwk, "kty")) return bad("`kty` is missing");
  const auto algorithm = algorithm_of(jwk);
  // RFC 7517, 5: keys that one does not understand are passed over. Tokens signed by them stay unknown.
  if (!algorithm || !is_for_signatures(jwk)) return std::optional<JwtKey>{};
  if (jwk.contains("alg") && text_member(jwk, "alg") != to_string(*algorithm)) return std::optional<JwtKey>{};
  if (algorithm == JwtAlgorithm::hs256) {
    CLOCHE_TRY(std::string secret, bytes_member(jwk, "k"));
    CLOCHE_TRY(JwtKey key, JwtKey::from_secret(std::move(secret)));
    return std::optional(std::move(key));
  }
  if (jwk.contains("d")) return bad("this is a private key; the file must contain public keys only");
  CLOCHE_TRY(JwtKey key, algorithm == JwtAlgorithm::rs256 ? rsa_key(jwk) : p256_key(jwk));
  return std::optional(std::move(key));
}

}  // namespace cloche::auth
