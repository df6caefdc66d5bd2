#include "egress/broker/sandbox_stream.hpp"

namespace cloche::egress {

namespace {

std::unexpected<Error> closed_stream() { return fail(ErrorCode::cancelled, "the connection was closed"); }

}  // namespace

Task<Result<std::size_t>> SandboxStream::read_some(std::span<char> into, Deadline deadline) {
  const auto connection = connection_;
  if (!connection) co_return closed_stream();
  auto count = co_await connection->read_into(into, deadline);
  if (!count && !connection_) co_return closed_stream();
  if (!count) close();
  co_return count;
}

Task<Status> SandboxStream::write_all(std::string_view bytes, Deadline deadline) {
  const auto connection = connection_;
  if (!connection) co_return closed_stream();
  auto written = co_await connection->write_view(bytes, deadline);
  if (!written && !connection_) co_return closed_stream();
  // After any other error there may still be bytes to read: why the server closes, for example.
  if (!written && written.error().code == ErrorCode::timeout) close();
  co_return written;
}

Task<> SandboxStream::end_writing(Deadline) {
  if (connection_) connection_->finish();
  co_return;
}

void SandboxStream::close() {
  if (!connection_) return;
  connection_->abandon();
  connection_.reset();
}

}  // namespace cloche::egress
