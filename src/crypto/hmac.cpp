#include "crypto/hmac.hpp"

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <cstdlib>

namespace cloche {

Digest hmac_sha256(std::string_view key, std::string_view bytes) {
  Digest digest;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, bytes.size(), digest.data(), nullptr))
    std::abort();
  return digest;
}

bool same_in_constant_time(const Digest& a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool same_in_constant_time(const Digest& a, const Digest& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace cloche
