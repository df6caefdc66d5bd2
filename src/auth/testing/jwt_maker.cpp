#include "auth/testing/jwt_maker.hpp"

#include "core/base64.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <stdexcept>
#include <vector>

namespace cloche::auth::testing {

namespace {

void must(bool done, const char* what) {
  if (!done) throw std::runtime_error(what);
}

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string number_text(const KeyPair& key, const char* name, int width = 0) {
  BIGNUM* number = nullptr;
  must(EVP_PKEY_get_bn_param(key.get(), name, &number) == 1, name);
  std::string bytes(static_cast<std::size_t>(width > 0 ? width : BN_num_bytes(number)), '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  BN_free(number);
  return encode_base64url(bytes);
}

std::string signature(const KeyPair& key, std::string_view text) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  must(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1, "sign");
  std::size_t size = 0;
  must(EVP_DigestSign(context.get(), nullptr, &size, bytes_of(text), text.size()) == 1, "sign");
  std::string made(size, '\0');
  must(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(made.data()), &size, bytes_of(text),
                      text.size()) == 1,
       "sign");
  made.resize(size);
  return made;
}

template <class Write>
std::string pem(Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
  must(write(bio.get()) == 1, "write PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

KeyPair make_rsa(unsigned bits) { return {EVP_RSA_gen(bits), &EVP_PKEY_free}; }
KeyPair make_ec(const char* curve) { return {EVP_EC_gen(curve), &EVP_PKEY_free}; }

std::string public_pem(const KeyPair& key) {
  return pem([&](BIO* bio) { return PEM_write_bio_PUBKEY(bio, key.get()); });
}

std::string private_pem(const KeyPair& key) {
  return pem([&](BIO* bio) { return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
}

std::string rsa_jwk(const KeyPair& key, std::string_view more) {
  return "{" + std::string(more) + R"("kty":"RSA","n":")" + number_text(key, OSSL_PKEY_PARAM_RSA_N) + R"(","e":")" +
         number_text(key, OSSL_PKEY_PARAM_RSA_E) + "\"}";
}

std::string ec_jwk(const KeyPair& key, std::string_view more) {
  return "{" + std::string(more) + R"("kty":"EC","crv":"P-256","x":")" +
         number_text(key, OSSL_PKEY_PARAM_EC_PUB_X, 32) + R"(","y":")" +
         number_text(key, OSSL_PKEY_PARAM_EC_PUB_Y, 32) + "\"}";
}

std::string oct_jwk(std::string_view secret, std::string_view more) {
  return "{" + std::string(more) + R"("kty":"oct","k":")" + encode_base64url(secret) + "\"}";
}

std::string jwks(std::initializer_list<std::string> keys) {
  std::string text = R"({"keys":[)";
  for (const std::string& key : keys) text += (&key == keys.begin() ? "" : ",") + key;
  return text + "]}";
}

std::string hs256_signature(std::string_view secret, std::string_view text) {
  unsigned char made[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), bytes_of(text), text.size(), made, &size);
  return {reinterpret_cast<char*>(made), size};
}

std::string rs256_signature(const KeyPair& key, std::string_view text) { return signature(key, text); }
std::string es256_der_signature(const KeyPair& key, std::string_view text) { return signature(key, text); }

std::string es256_signature(const KeyPair& key, std::string_view text) {
  const std::string der = signature(key, text);
  const unsigned char* at = bytes_of(der);
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> parts(
      d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())), &ECDSA_SIG_free);
  must(parts != nullptr, "read signature");
  std::string raw(64, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(raw.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(parts.get()), bytes, 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(parts.get()), bytes + 32, 32);
  return raw;
}

std::string signed_part(std::string_view header, std::string_view claims) {
  return encode_base64url(header) + "." + encode_base64url(claims);
}

std::string with_signature(std::string_view part, std::string_view raw) {
  return std::string(part) + "." + encode_base64url(raw);
}

std::string hs256_jwt(std::string_view secret, std::string_view claims, std::string_view header) {
  const std::string part = signed_part(header, claims);
  return with_signature(part, hs256_signature(secret, part));
}

std::string rs256_jwt(const KeyPair& key, std::string_view claims, std::string_view header) {
  const std::string part = signed_part(header, claims);
  return with_signature(part, rs256_signature(key, part));
}

std::string es256_jwt(const KeyPair& key, std::string_view claims, std::string_view header) {
  const std::string part = signed_part(header, claims);
  return with_signature(part, es256_signature(key, part));
}

}  // namespace cloche::auth::testing
