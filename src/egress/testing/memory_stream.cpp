#include "egress/testing/memory_stream.hpp"

#include <algorithm>

namespace cloche::egress::testing {

std::pair<std::unique_ptr<MemoryStream>, std::unique_ptr<MemoryStream>> MemoryStream::make_pair(
    const Executor& executor, std::size_t room) {
  auto there = std::make_shared<MemoryLane>(executor, room);
  auto back = std::make_shared<MemoryLane>(executor, room);
  return {std::make_unique<MemoryStream>(back, there), std::make_unique<MemoryStream>(there, back)};
}

Task<Result<std::size_t>> MemoryStream::read_some(std::span<char> into, Deadline deadline) {
  MemoryLane& lane = *in_;
  while (lane.bytes.empty() && !lane.ended && !lane.closed) {
    if (deadline.passed()) {
      close();
      co_return fail(ErrorCode::timeout, "read: timed out");
    }
    co_await lane.changed.wait(deadline);
  }
  if (lane.bytes.empty() && !lane.ended) co_return fail(ErrorCode::cancelled, "read: the connection was closed");
  const std::size_t count = std::min(into.size(), lane.bytes.size());
  std::copy_n(lane.bytes.begin(), count, into.begin());
  lane.bytes.erase(0, count);
  lane.changed.notify();
  co_return count;
}

Task<Status> MemoryStream::write_all(std::string_view bytes, Deadline deadline) {
  MemoryLane& lane = *out_;
  while (!bytes.empty()) {
    while (lane.bytes.size() >= lane.room && !lane.closed) {
      if (deadline.passed()) {
        close();
        co_return fail(ErrorCode::timeout, "write: timed out");
      }
      co_await lane.changed.wait(deadline);
    }
    if (lane.closed || lane.ended) co_return fail(ErrorCode::unavailable, "write: the connection was closed");
    const std::size_t count = std::min(bytes.size(), lane.room - lane.bytes.size());
    lane.bytes.append(bytes.substr(0, count));
    lane.most_held = std::max(lane.most_held, lane.bytes.size());
    bytes.remove_prefix(count);
    lane.changed.notify();
  }
  co_return Status{};
}

Task<> MemoryStream::end_writing(Deadline) {
  out_->ended = true;
  out_->changed.notify();
  co_return;
}

// The other side sees the end of what was written, as with a socket.
void MemoryStream::close() {
  out_->ended = true;
  in_->closed = true;
  out_->changed.notify();
  in_->changed.notify();
}

}  // namespace cloche::egress::testing
