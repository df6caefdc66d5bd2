// The E2B backend: sandboxes made by an E2B service, hosted or private.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "backend/e2b/options.hpp"
#include "sandbox/backend.hpp"

namespace cloche {

// Says nothing to the service yet. The pool reads the agent. The backend must outlive the calls made on it; the
// sandboxes it made may outlive it. `invalid_argument` for settings that make no sense.
Result<std::unique_ptr<Backend>> create_e2b_backend(Executor executor, asio::thread_pool& pool, E2bSettings settings);

}  // namespace cloche
