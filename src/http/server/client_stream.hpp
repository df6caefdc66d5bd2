// ClientStream: one client's connection as bytes, with the server's limits on it. Private to this folder.
#pragma once

#include <algorithm>
#include <memory>

#include "http/server/limits.hpp"
#include "http/server/request/inflow.hpp"

namespace cloche::http {

class ClientStream {
 public:
  ClientStream(std::unique_ptr<Stream> stream, const Executor& executor, const ServerLimits& limits)
      : stream_(std::move(stream)), inflow_(*stream_, executor, kept_of_heads(limits)), limits_(limits) {}

  // Before a body is read: room for a head that is within its limit.
  static std::size_t kept_of_heads(const ServerLimits& limits) {
    return std::max<std::size_t>(32 << 10, 2 * limits.head.size.count);
  }

  // A client that takes nothing for too long is cut off. After an error, or when a writer was cancelled, part of the
  // bytes may be out and the stream is broken.
  Task<Status> write(std::string_view bytes, Deadline deadline = Deadline::never());
  Task<> end_writing(Deadline deadline) { return stream_->end_writing(deadline); }

  Inflow& inflow() { return inflow_; }
  const ServerLimits& limits() const { return limits_; }
  bool broken() const { return broken_; }
  std::uint64_t bytes_out() const { return bytes_out_; }

  // See Stream. Of a connection that was handed over; to read from it once nothing is left that was read ahead.
  asio::ip::tcp::socket* bare_socket(Stream::Direction direction) {
    const bool is_bare = direction == Stream::Direction::reading ? inflow_.is_bare() : inflow_.is_handed_over();
    return is_bare ? stream_->bare_socket(direction) : nullptr;
  }
  Status moved(std::size_t read, std::size_t written);

  void close() { stream_->close(); }

 private:
  std::unique_ptr<Stream> stream_;
  Inflow inflow_;
  const ServerLimits limits_;
  bool writing_ = false;
  bool broken_ = false;  // a write did not come to its end
  std::uint64_t bytes_out_ = 0;
};

}  // namespace cloche::http
