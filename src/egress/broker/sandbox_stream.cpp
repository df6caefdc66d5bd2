#include "egress/broker/sandbox_stream.hpp"

#include <boost/system/system_error.hpp>

#include "core/async/first_of.hpp"

namespace cloche::egress {

namespace {

std::unexpected<Error> closed_stream() { return fail(ErrorCode::cancelled, "the connection was closed"); }

}  // namespace

Task<Result<std::size_t>> SandboxStream::read_some(std::span<char> into, Deadline deadline) {
  if (used_ == unread_.size()) {
    const auto connection = connection_;
    if (!connection) co_return closed_stream();
    // What is there already needs no wait, and so no second task.
    auto bytes = co_await connection->read(Deadline::at({}));
    if (!bytes && bytes.error().code == ErrorCode::timeout) {
      bytes = co_await unless_closed(connection->read(deadline));
    }
    if (!bytes) {
      close();
      co_return fail(std::move(bytes).error());
    }
    unread_ = std::move(*bytes);
    used_ = 0;
  }
  const std::size_t count = std::string_view(unread_).substr(used_).copy(into.data(), into.size());
  used_ += count;
  co_return count;
}

Task<Status> SandboxStream::write_all(std::string_view bytes, Deadline deadline) {
  const auto connection = connection_;
  if (!connection) co_return closed_stream();
  auto written = co_await unless_closed(connection->write(std::string(bytes), deadline));
  // After any other error there may still be bytes to read: why the server closes, for example.
  if (!written && written.error().code == ErrorCode::timeout) close();
  co_return written;
}

Task<> SandboxStream::end_writing(Deadline) {
  if (connection_) connection_->finish();
  co_return;
}

void SandboxStream::close() {
  connection_.reset();
  closed_.cancel();
}

template <class T>
Task<Result<T>> SandboxStream::unless_closed(Task<Result<T>> step) {
  auto ended = co_await first_of(std::move(step), wait_until_closed());
  if (auto* result = std::get_if<0>(&ended)) co_return std::move(*result);
  // Not closed, so it was the caller that was cancelled.
  if (connection_) throw boost::system::system_error(asio::error::operation_aborted);
  co_return closed_stream();
}

// Returns when it is cancelled too: an exception after each step would cost as much as the step.
Task<> SandboxStream::wait_until_closed() {
  boost::system::error_code ignored;
  co_await closed_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace cloche::egress
