// The Kubernetes backend: sandboxes as pods of a cluster.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "backend/kubernetes/options.hpp"
#include "sandbox/backend.hpp"

namespace cloche {

// Says nothing to the cluster yet. The pool runs credential plugins. The backend must outlive the calls made on it; the
// sandboxes it made may outlive it. `invalid_argument` for settings that make no sense.
Result<std::unique_ptr<Backend>> create_kubernetes_backend(Executor executor, asio::thread_pool& pool,
                                                           KubernetesSettings settings);

}  // namespace cloche
