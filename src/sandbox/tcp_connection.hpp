// TcpConnection: the bytes of a connection in a sandbox, over a stream of the channel.
#pragma once

#include <memory>
#include <string>

#include "core/async/task.hpp"
#include "sandbox/agent_link.hpp"

namespace cloche {

class TcpConnection {
 public:
  explicit TcpConnection(std::unique_ptr<AgentStream> stream) : stream_(std::move(stream)) {}

  // Some bytes; empty at the end.
  Task<Result<std::string>> read(Deadline deadline = Deadline::never());
  Task<Status> write(std::string bytes, Deadline deadline = Deadline::never());
  // No more bytes will be written.
  void finish();

 private:
  std::unique_ptr<AgentStream> stream_;
  bool ended_ = false;
};

}  // namespace cloche
