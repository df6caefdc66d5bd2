// Outlet: the way out of one leased sandbox: the listener in the sandbox, and the broker's end of its connections.
#pragma once

#include <memory>

#include "core/async/task_group.hpp"
#include "egress/broker/sandbox_egress.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche::pool {

// Close it before it is destroyed.
class Outlet {
 public:
  Outlet(const Executor& executor, std::shared_ptr<LiveSandbox> sandbox, std::shared_ptr<egress::SandboxEgress> egress,
         EgressListenSpec spec);
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;
  ~Outlet();

  // Opens the listener in the sandbox. `unsupported` if its agent is too old. sandbox_lost if it is closed meanwhile.
  Task<Status> listen(Deadline deadline);
  // Connections that the new policy refuses are ended.
  void set_policy(egress::Policy policy) { egress_->set_policy(std::move(policy)); }
  // Ends the listener and all connections, and waits for their end. Not cancellable.
  Task<> close();

 private:
  std::shared_ptr<LiveSandbox> sandbox_;
  std::shared_ptr<egress::SandboxEgress> egress_;
  EgressListenSpec spec_;
  std::unique_ptr<EgressListener> listener_;
  bool closed_ = false;
  TaskGroup tasks_;
};

}  // namespace cloche::pool
