#include "session/expiries.hpp"

namespace cloche::session {

void Expiries::set(const SessionKey& key, std::optional<WallTime> when) {
  if (const auto found = times_.find(key); found != times_.end()) {
    order_.erase({found->second, key});
    times_.erase(found);
  }
  if (when) {
    times_.emplace(key, *when);
    order_.emplace(*when, key);
  }
  timer_.cancel();
}

Task<SessionKey> Expiries::next() {
  for (;;) {
    if (!order_.empty() && order_.begin()->first <= std::chrono::system_clock::now()) {
      SessionKey key = order_.begin()->second;
      times_.erase(key);
      order_.erase(order_.begin());
      co_return key;
    }
    timer_.expires_at(order_.empty() ? WallTime::max() : order_.begin()->first);
    boost::system::error_code changed;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, changed));
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      throw boost::system::system_error(asio::error::operation_aborted);
    }
  }
}

}  // namespace cloche::session
