#include "core/async/event.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/system/system_error.hpp>

namespace cloche {

namespace {

// A timer's end by cancel() means "notified", unless the task itself was cancelled.
Task<> wait_on(asio::steady_timer& timer) {
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) {
    throw boost::system::system_error(asio::error::operation_aborted);
  }
}

}  // namespace

Task<> Event::wait(Deadline deadline) {
  if (deadline.is_never()) {
    co_await wait_on(timer_);
    co_return;
  }
  using asio::experimental::awaitable_operators::operator||;
  asio::steady_timer limit(timer_.get_executor(), deadline.time());
  co_await (timer_.async_wait(asio::as_tuple(asio::use_awaitable)) ||
            limit.async_wait(asio::as_tuple(asio::use_awaitable)));
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) {
    throw boost::system::system_error(asio::error::operation_aborted);
  }
}

Task<> never() {
  Event event(co_await asio::this_coro::executor);
  for (;;) co_await event.wait();
}

Task<> pause_for(Deadline::Clock::duration span) {
  asio::steady_timer timer(co_await asio::this_coro::executor, span);
  co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace cloche
