#include "http/server/request/inflow.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

namespace cloche::http {

Inflow::Inflow(Stream& stream, const Executor& executor, std::size_t most_kept)
    : stream_(stream), most_kept_(most_kept), arrived_(executor), room_(executor) {}

Task<> Inflow::pump() {
  while (!ended_ && !handed_over_) {
    while (bytes().size() >= most_kept_) co_await room_.wait();
    const std::span<char> into(piece_);
    auto count = co_await stream_.read_some(into, Deadline::never());
    if (count && *count > 0) {
      buffer_.append(piece_.data(), *count);
      total_ += *count;
    } else {
      ended_ = true;
    }
    wake();
  }
  is_pumped_ = false;
  wake();
}

Task<Result<std::size_t>> Inflow::read(std::span<char> into, Deadline deadline) {
  while (bytes().empty() && !ended_ && is_pumped_ && !deadline.passed()) co_await wait(deadline);
  if (!bytes().empty()) {
    const std::size_t count = bytes().copy(into.data(), into.size());
    consume(count);
    co_return count;
  }
  if (ended_) co_return std::size_t{0};
  if (is_pumped_) co_return fail(ErrorCode::timeout, "read: timed out");
  auto count = co_await stream_.read_some(into, deadline);
  if (!count || *count == 0) ended_ = true;
  if (count) total_ += *count;
  co_return count;
}

void Inflow::consume(std::size_t count) {
  const bool was_full = bytes().size() >= most_kept_;
  used_ += count;
  if (used_ == buffer_.size()) {
    buffer_.clear();
    used_ = 0;
  } else if (used_ >= piece_size) {
    buffer_.erase(0, used_);
    used_ = 0;
  }
  if (was_full && bytes().size() < most_kept_) room_.notify();
}

void Inflow::keep(std::size_t most) {
  const bool was_full = bytes().size() >= most_kept_;
  most_kept_ = most;
  if (was_full && bytes().size() < most_kept_) room_.notify();
}

Task<> Inflow::wait(Deadline deadline) {
  arrived_.expires_at(deadline.time());
  boost::system::error_code woken;
  co_await arrived_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) {
    throw boost::system::system_error(asio::error::operation_aborted);
  }
}

}  // namespace cloche::http
