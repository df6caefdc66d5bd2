// shielded: work that a cancellation of the caller does not reach.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <type_traits>
#include <utility>

#include "core/async/task.hpp"

namespace cloche {

namespace detail {

template <class Start>
std::invoke_result_t<Start&> without_cancellation(Start start) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_return co_await start();
}

}  // namespace detail

// Runs `start()` to its end, whatever happens to the caller meanwhile; a cancellation reaches the caller afterwards.
// The work is a coroutine of its own because switching cancellation off is for good, and for all callers up to the top.
//
// A caller that is cancelled already gets the exception at this very co_await, before anything has started. To clean up
// after a cancellation, say `co_await asio::this_coro::throw_if_cancelled(false)` first.
template <class Start>
std::invoke_result_t<Start&> shielded(Start start) {
  const auto executor = co_await asio::this_coro::executor;
  auto work = [start = std::move(start)]() mutable { return detail::without_cancellation(std::move(start)); };
  co_return co_await asio::co_spawn(executor, std::move(work), asio::use_awaitable);
}

}  // namespace cloche
