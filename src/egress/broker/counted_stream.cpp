#include "egress/broker/counted_stream.hpp"

namespace cloche::egress {

Task<Result<std::size_t>> CountedStream::read_some(std::span<char> into, Deadline deadline) {
  CLOCHE_CO_TRY(const std::size_t size, co_await stream_->read_some(into, deadline));
  CLOCHE_CO_CHECK(count(0, size));
  co_return size;
}

Task<Status> CountedStream::write_all(std::string_view bytes, Deadline deadline) {
  CLOCHE_CO_CHECK(count(bytes.size(), 0));
  co_return co_await stream_->write_all(bytes, deadline);
}

Status CountedStream::count(std::uint64_t up, std::uint64_t down) {
  traffic_->up += up;
  traffic_->down += down;
  books_->count_bytes(up, down);
  if (!meter_) return {};
  auto counted = meter_->count_bytes(up, down);
  if (counted) return {};
  traffic_->over_quota = true;
  stream_->close();
  return fail(ErrorCode::limit_reached, std::move(counted).error().message);
}

}  // namespace cloche::egress
