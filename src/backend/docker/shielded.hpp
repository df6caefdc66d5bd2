// shielded: work that a cancellation of the caller does not reach.
#pragma once

#include <boost/asio/co_spawn.hpp>

#include "core/task.hpp"

namespace cloche::docker {

namespace detail {

template <class Start>
std::invoke_result_t<Start&> without_cancellation(Start start) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_return co_await start();
}

}  // namespace detail

// Runs `start()` to its end, whatever happens to the caller meanwhile; a cancellation reaches the caller afterwards.
// The work is a coroutine of its own because switching cancellation off is for good, and for all callers up to the top.
// Throws without starting when the caller is cancelled already.
template <class Start>
std::invoke_result_t<Start&> shielded(Start start) {
  const auto executor = co_await asio::this_coro::executor;
  auto work = [start = std::move(start)]() mutable { return detail::without_cancellation(std::move(start)); };
  co_return co_await asio::co_spawn(executor, std::move(work), asio::use_awaitable);
}

}  // namespace cloche::docker
