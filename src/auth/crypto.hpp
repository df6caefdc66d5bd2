// The few things of OpenSSL that need no key: digests, comparison, and its queue of errors.
#pragma once

#include <openssl/err.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace cloche::auth {

using Digest = std::array<unsigned char, 32>;

Digest sha256(std::string_view bytes);
Digest hmac_sha256(std::string_view key, std::string_view bytes);

// Takes as long whatever differs.
bool same_in_constant_time(const Digest& a, std::string_view b);
bool same_in_constant_time(const Digest& a, const Digest& b);

// Lower-case hexadecimal digits; only those are read back.
std::string to_hex(const Digest& digest);
std::optional<Digest> digest_from_hex(std::string_view digits);

// Takes away the errors that OpenSSL queues in its life. A stale error would be taken for one of the next TLS
// connection on this thread.
class OpensslErrorsDropped {
 public:
  OpensslErrorsDropped() { ERR_set_mark(); }
  ~OpensslErrorsDropped() { ERR_pop_to_mark(); }
  OpensslErrorsDropped(const OpensslErrorsDropped&) = delete;
  OpensslErrorsDropped& operator=(const OpensslErrorsDropped&) = delete;
};

}  // namespace cloche::auth
