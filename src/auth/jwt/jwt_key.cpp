#include "auth/jwt/jwt_key.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <utility>

#include "crypto/hmac.hpp"
#include "crypto/openssl_errors.hpp"

namespace cloche::auth {

namespace {

constexpr std::size_t p256_bytes = 32;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;
using EcSignature = std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::unexpected<Error> bad_key(std::string what) { return fail(ErrorCode::invalid_argument, std::move(what)); }

// OpenSSL's own would ask at the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

bool is_p256(EVP_PKEY* key) {
  char name[80] = "";
  std::size_t size = 0;
  return EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof name, &size) == 1 &&
         std::string_view(name, size) == SN_X9_62_prime256v1;
}

bool is_consistent(EVP_PKEY* key) {
  const KeyContext context(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr), &EVP_PKEY_CTX_free);
  return context && EVP_PKEY_public_check(context.get()) == 1;
}

// JWTs carry r and s side by side, 32 bytes each; OpenSSL wants them in DER.
std::string der_of_raw(std::string_view raw) {
  if (raw.size() != 2 * p256_bytes) return {};
  Number r(BN_bin2bn(bytes_of(raw), p256_bytes, nullptr), &BN_free);
  Number s(BN_bin2bn(bytes_of(raw.substr(p256_bytes)), p256_bytes, nullptr), &BN_free);
  const EcSignature signature(ECDSA_SIG_new(), &ECDSA_SIG_free);
  if (!r || !s || !signature || ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return {};
  (void)r.release(), (void)s.release();  // the signature's now
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size <= 0) return {};
  std::string text(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return text;
}

bool verify_sha256(EVP_PKEY* key, std::string_view signed_part, std::string_view signature, bool is_rsa) {
  const DigestContext context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  EVP_PKEY_CTX* options = nullptr;  // belongs to the context
  if (!context || EVP_DigestVerifyInit(context.get(), &options, EVP_sha256(), nullptr, key) != 1) return false;
  if (is_rsa && EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PADDING) != 1) return false;
  return EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(signed_part),
                          signed_part.size()) == 1;
}

}  // namespace

JwtKey::JwtKey(JwtAlgorithm algorithm, std::string secret, PublicKey key)
    : algorithm_(algorithm), secret_(std::move(secret)), key_(std::move(key)) {}

Result<JwtKey> JwtKey::from_secret(std::string secret) {
  if (secret.size() < least_secret_bytes) {
    return bad_key("an HS256 secret must have at least " + std::to_string(least_secret_bytes) + " bytes");
  }
  if (secret.size() > most_secret_bytes) {
    return bad_key("an HS256 secret must have at most " + std::to_string(most_secret_bytes) + " bytes");
  }
  return JwtKey(JwtAlgorithm::hs256, std::move(secret), nullptr);
}

Result<JwtKey> JwtKey::from_public_key(PublicKey key) {
  const OpensslErrorsDropped quiet;
  if (EVP_PKEY_is_a(key.get(), "RSA") == 1) {
    const int bits = EVP_PKEY_get_bits(key.get());
    if (bits < least_rsa_bits || bits > most_rsa_bits) {
      return bad_key("RSA key of " + std::to_string(bits) + " bits: it must have 2048 to 8192 bits");
    }
    if (!is_consistent(key.get())) return bad_key("invalid RSA key: inconsistent parameters");
    return JwtKey(JwtAlgorithm::rs256, {}, std::move(key));
  }
  if (EVP_PKEY_is_a(key.get(), "EC") == 1) {
    if (!is_p256(key.get())) return bad_key("EC key on an unsupported curve; use P-256");
    if (!is_consistent(key.get())) return bad_key("invalid EC key: the point is not on the curve");
    return JwtKey(JwtAlgorithm::es256, {}, std::move(key));
  }
  return bad_key("unsupported key type; use RSA or EC");
}

Result<JwtKey> JwtKey::from_pem(std::string_view pem) {
  constexpr std::string_view begin = "-----BEGIN ";
  const auto first = pem.find(begin);
  if (first == pem.npos) return bad_key("no PEM block `PUBLIC KEY`");
  if (pem.find("PRIVATE KEY-----") != pem.npos) {
    return bad_key("this is a private key; give the public key (openssl pkey -pubout)");
  }
  if (pem.find(begin, first + 1) != pem.npos) return bad_key("more than one PEM block; use a JWKS for several keys");
  const OpensslErrorsDropped quiet;
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  PublicKey key(bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, &no_passphrase, nullptr) : nullptr, &EVP_PKEY_free);
  if (!key) return bad_key("no readable PEM block `PUBLIC KEY`");
  return from_public_key(std::move(key));
}

bool JwtKey::verifies(const Jwt& jwt) const {
  if (jwt.algorithm != algorithm_) return false;
  const OpensslErrorsDropped quiet;
  switch (algorithm_) {
    case JwtAlgorithm::hs256: return same_in_constant_time(hmac_sha256(secret_, jwt.signed_part), jwt.signature);
    case JwtAlgorithm::rs256: return verify_sha256(key_.get(), jwt.signed_part, jwt.signature, true);
    case JwtAlgorithm::es256: {
      const std::string der = der_of_raw(jwt.signature);
      return !der.empty() && verify_sha256(key_.get(), jwt.signed_part, der, false);
    }
  }
  return false;
}

}  // namespace cloche::auth
