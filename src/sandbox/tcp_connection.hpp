// TcpConnection: the bytes of a connection in a sandbox, over a stream of the channel.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/async/task.hpp"
#include "sandbox/agent_link.hpp"

namespace cloche {

class TcpConnection {
 public:
  // `first`: what was received already.
  explicit TcpConnection(std::unique_ptr<AgentStream> stream, std::string first = {})
      : stream_(std::move(stream)), unread_(std::move(first)) {}

  // Some bytes; empty at the end.
  Task<Result<std::string>> read(Deadline deadline = Deadline::never());
  Task<Status> write(std::string bytes, Deadline deadline = Deadline::never());
  // No more bytes will be written.
  void finish();

  // The same with memory of the caller's, which stays there until they return. 0 at the end.
  Task<Result<std::size_t>> read_into(std::span<char> into, Deadline deadline);
  Task<Status> write_view(std::string_view bytes, Deadline deadline);
  bool has_unread() const { return used_ < unread_.size(); }
  // Resets the connection, unless it is finished. Pending steps end with the error `cancelled`.
  void abandon() { stream_->abandon(); }

 private:
  std::size_t take_unread(std::span<char> into);
  void take_event(StreamEvent event);

  std::unique_ptr<AgentStream> stream_;
  std::string unread_;
  std::size_t used_ = 0;  // of it
  bool ended_ = false;
};

}  // namespace cloche
