// The Docker backend: sandboxes made from containers of a Docker engine, local or remote.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "backend/docker/engine/options.hpp"
#include "sandbox/backend.hpp"

namespace cloche {

// Says nothing to the engine yet. The pool does the blocking work: reading and packing the agent. The backend must
// outlive the calls made on it; the sandboxes it made may outlive it. `invalid_argument` for options that make no
// sense.
Result<std::unique_ptr<Backend>> create_docker_backend(Executor executor, asio::thread_pool& pool,
                                                       DockerOptions options);

}  // namespace cloche
