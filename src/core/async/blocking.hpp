// Blocking work, done on a thread pool while the coroutine that asked for it waits.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <type_traits>
#include <utility>

#include "core/async/task.hpp"

namespace cloche {

// Runs `work()`, which returns a Result, on a thread of the pool, and comes back to the caller's thread with what it
// returned. Cannot be cancelled: the work ends by itself, so give it a deadline. An exception becomes an internal
// error.
template <class Work>
Task<std::invoke_result_t<Work&>> run_blocking(asio::thread_pool& pool, Work work) {
  using R = std::invoke_result_t<Work&>;
  auto start = [&pool](auto handler, Work job) {
    auto home = asio::get_associated_executor(handler);
    auto guard = asio::make_work_guard(home);
    asio::post(pool, [job = std::move(job), handler = std::move(handler), guard = std::move(guard)]() mutable {
      auto result = [&]() -> R {
        try {
          return job();
        } catch (const std::exception& e) {
          return fail(ErrorCode::internal, e.what());
        }
      }();
      auto executor = guard.get_executor();
      asio::post(executor, [handler = std::move(handler), result = std::move(result)]() mutable {
        std::move(handler)(std::move(result));
      });
    });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(R)>(
      std::move(start), asio::use_awaitable, std::move(work));
}

}  // namespace cloche
