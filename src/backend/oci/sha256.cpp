#include "backend/oci/sha256.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <vector>

#include "core/text.hpp"
#include "core/unique_fd.hpp"

namespace cloche::oci {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  // OpenSSL fails here only if there is not enough memory.
  if (state_->context == nullptr || EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1)
    throw std::bad_alloc();
}

Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
  if (EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) != 1) throw std::bad_alloc();
}

std::string Sha256::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(state_->context, digest, &size) != 1) throw std::bad_alloc();
  return to_hex({reinterpret_cast<const char*>(digest), size});
}

std::string sha256_of(std::string_view bytes) {
  Sha256 sum;
  sum.update(bytes);
  return sum.hex();
}

Result<std::string> sha256_of_file(const std::string& path) {
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

}  // namespace cloche::oci
