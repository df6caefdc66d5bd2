// Blocking work that is seen through whatever happens to the task that waits for it.
#pragma once

#include <utility>

#include "core/async/blocking.hpp"
#include "core/async/task.hpp"

namespace cloche::oci {

// Like run_blocking, but also in a task that has already been cancelled. A cancellation stays pending: the caller's
// next co_await throws as it would have.
template <class Work>
Task<std::invoke_result_t<Work&>> run_blocking_to_the_end(asio::thread_pool& pool, Work work) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto result = co_await run_blocking(pool, std::move(work));
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return result;
}

}  // namespace cloche::oci
