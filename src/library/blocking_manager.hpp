// The implementation of the blocking Manager; code runners keep it alive.
#pragma once

#include <memory>

#include "cloche/async_manager.hpp"
#include "cloche/manager.hpp"
#include "core/async/task_group.hpp"
#include "library/loop_thread.hpp"

namespace cloche {

struct Manager::Impl {
  explicit Impl(ManagerOptions options)
      : manager(loop.io().get_executor(), std::move(options)), tasks(loop.io().get_executor()) {}
  ~Impl();

  // Calls on the loop's own thread that do not wait.
  template <class Call>
  auto on_loop(Call call) {
    using R = std::invoke_result_t<Call&>;
    return loop.wait_for([call = std::move(call)]() mutable -> async::Task<R> { co_return call(); });
  }

  // Until the pools are gone. A second signal skips the wait for leases.
  async::Task<int> shut_down_at_signal();

  std::shared_ptr<Sandbox> hold(std::shared_ptr<Impl> self, async::Sandbox lent);

  LoopThread loop;
  async::Manager manager;
  TaskGroup tasks;
};

}  // namespace cloche
