// OpenSSL keeps a queue of errors for each thread.
#pragma once

#include <openssl/err.h>

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

}  // namespace cloche
