// From options to a backend.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>

#include "cloche/engine_options.hpp"
#include "sandbox/backend.hpp"

namespace cloche {

Result<std::unique_ptr<Backend>> make_backend(Executor executor, asio::thread_pool& threads,
                                              const EngineOptions& options, const InstanceId& instance);

}  // namespace cloche
