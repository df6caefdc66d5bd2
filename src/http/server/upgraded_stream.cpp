#include "http/server/upgraded_stream.hpp"

#include <algorithm>

namespace cloche::http {

Task<Result<std::size_t>> UpgradedStream::read_some(std::span<char> into, Deadline deadline) {
  Inflow& inflow = client_stream_.inflow();
  while (inflow.bytes().empty()) {
    if (inflow.ended()) co_return std::size_t{0};
    if (deadline.passed()) {
      close();
      co_return fail(ErrorCode::timeout, "read: timed out");
    }
    co_await inflow.wait(deadline);
  }
  const std::size_t count = std::min(into.size(), inflow.bytes().size());
  std::ranges::copy(inflow.bytes().substr(0, count), into.begin());
  inflow.consume(count);
  co_return count;
}

Task<Status> UpgradedStream::write_all(std::string_view bytes, Deadline deadline) {
  return client_stream_.write(bytes, deadline);
}

}  // namespace cloche::http
