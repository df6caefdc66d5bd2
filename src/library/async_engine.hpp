// What stands behind async::Engine; its sandboxes hold on to it.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "cloche/async.hpp"
#include "cloche/manager_options.hpp"
#include "core/async/task_group.hpp"
#include "host/ephemeral_instance.hpp"
#include "host/instance_dir.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche::async {

struct Engine::Impl {
  // `limits` says how much is made and removed at a time.
  Impl(boost::asio::any_io_executor executor, EngineOptions options, const ManagerOptions& limits = {});

  // The backend; the first call also removes what killed processes left behind.
  Task<Backend*> backend();
  // Removes what engines without an instance left when their processes were killed.
  Task<> sweep();
  // Ends a sandbox that its owner let go.
  void end(std::shared_ptr<LiveSandbox> sandbox);

  Executor executor;
  EngineOptions options;
  boost::asio::thread_pool threads;
  std::unique_ptr<InstanceDir> dir;              // with an instance
  std::shared_ptr<EphemeralInstance> ephemeral;  // without one; also held by removals that outlive this object
  std::unique_ptr<Backend> made;
  bool swept = false;
  TaskGroup tasks;
};

}  // namespace cloche::async
