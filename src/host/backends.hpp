// From options to a backend.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>

#include "cloche/engine_options.hpp"
#include "cloche/manager_options.hpp"
#include "disk/ledger.hpp"
#include "sandbox/backend.hpp"

namespace cloche {

// `ledger`: shared with others that need the host's disk; none: the backend has its own.
Result<std::unique_ptr<Backend>> make_backend(Executor executor, asio::thread_pool& threads,
                                              const EngineOptions& options, const InstanceId& instance,
                                              std::shared_ptr<disk::Ledger> ledger = nullptr);

// For a look at what exists, and its removal: it writes nothing until it is asked to. It cannot create sandboxes on a
// host on which no other backend has placed the agent.
Result<std::unique_ptr<Backend>> make_searching_backend(Executor executor, asio::thread_pool& threads,
                                                        const EngineOptions& options, const InstanceId& instance);

// How many threads a backend needs that blocks: one for each sandbox that the manager's gates let be made or removed at
// a time, and some for the rest, so that a slow image or a sandbox that resists holds up nothing else.
unsigned blocking_threads(const ManagerOptions& options);

}  // namespace cloche
