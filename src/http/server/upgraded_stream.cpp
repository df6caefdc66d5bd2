#include "http/server/upgraded_stream.hpp"

namespace cloche::http {

Task<Result<std::size_t>> UpgradedStream::read_some(std::span<char> into, Deadline deadline) {
  Inflow& inflow = client_stream_.inflow();
  if (inflow.is_handed_over()) {
    auto count = co_await inflow.read(into, deadline);
    if (!count) close();
    co_return count;
  }
  while (inflow.bytes().empty()) {
    if (inflow.ended()) co_return std::size_t{0};
    if (deadline.passed()) {
      close();
      co_return fail(ErrorCode::timeout, "read: timed out");
    }
    co_await inflow.wait(deadline);
  }
  const std::size_t count = inflow.bytes().copy(into.data(), into.size());
  inflow.consume(count);
  co_return count;
}

Task<Status> UpgradedStream::write_all(std::string_view bytes, Deadline deadline) {
  return client_stream_.write(bytes, deadline);
}

Status UpgradedStream::moved(std::size_t read, std::size_t written) { return client_stream_.moved(read, written); }

}  // namespace cloche::http
