#include "crypto/sha256.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "core/text.hpp"
#include "core/unique_fd.hpp"

namespace cloche {

namespace {

// OpenSSL fails only without memory or without SHA-256; continuing with a digest of zeros would be a security hole.
void must(bool done) {
  if (!done) std::abort();
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  must(state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
  must(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

Digest Sha256::digest() {
  Digest digest;
  must(EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) == 1);
  return digest;
}

std::string Sha256::hex() { return to_hex(digest()); }

Digest sha256(std::string_view bytes) {
  Sha256 sum;
  sum.update(bytes);
  return sum.digest();
}

std::string sha256_hex(std::string_view bytes) { return to_hex(sha256(bytes)); }

Result<std::string> sha256_hex_of_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno("open " + path);
  Sha256 sum;
  std::vector<char> chunk(1 << 18);
  while (true) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read " + path);
    if (n == 0) return sum.hex();
    sum.update({chunk.data(), static_cast<std::size_t>(n)});
  }
}

std::string to_hex(const Digest& digest) {
  return to_hex(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

std::optional<Digest> digest_from_hex(std::string_view digits) {
  Digest digest;
  if (digits.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = digit_value(digits[2 * i]);
    const int low = digit_value(digits[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return digest;
}

}  // namespace cloche
