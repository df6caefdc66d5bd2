// OpenSSL keeps a queue of errors for each thread.
#pragma once

#include <openssl/err.h>

#include <cstring>
#include <string>

namespace cloche {

// Removes the errors that OpenSSL queues during its life. A stale error would be taken for one of the next TLS
// connection on this thread.
class OpensslErrorsDropped {
 public:
  OpensslErrorsDropped() { ERR_set_mark(); }
  ~OpensslErrorsDropped() { ERR_pop_to_mark(); }
  OpensslErrorsDropped(const OpensslErrorsDropped&) = delete;
  OpensslErrorsDropped& operator=(const OpensslErrorsDropped&) = delete;
};

// Why OpenSSL's last call failed, for people: the first error of this thread's queue, which is then empty.
inline std::string take_openssl_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown error";
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "OpenSSL error " + std::to_string(code);
}

}  // namespace cloche
