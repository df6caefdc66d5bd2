#include "egress/broker/sandbox_stream.hpp"

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
      auto ended = co_await first_of(connection->read(deadline), wait_until_closed());
      if (ended.index() == 1) co_return closed_stream();
      bytes = std::get<0>(std::move(ended));
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
  auto ended = co_await first_of(connection->write(std::string(bytes), deadline), wait_until_closed());
  if (ended.index() == 1) co_return closed_stream();
  auto written = std::get<0>(std::move(ended));
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
  closed_.notify();
}

Task<> SandboxStream::wait_until_closed() {
  while (connection_) co_await closed_.wait();
}

}  // namespace cloche::egress
