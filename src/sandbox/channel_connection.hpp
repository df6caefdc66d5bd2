// ChannelConnection: a connection in a sandbox, over a stream of the channel.
#pragma once

#include <memory>

#include "sandbox/agent_link.hpp"
#include "sandbox/tcp_connection.hpp"

namespace cloche {

class ChannelConnection final : public TcpConnection {
 public:
  // `first`: what was received already.
  explicit ChannelConnection(std::unique_ptr<AgentStream> stream, std::string first = {})
      : stream_(std::move(stream)), unread_(std::move(first)) {}

  Task<Result<std::string>> read(Deadline deadline) override;
  Task<Result<std::size_t>> read_into(std::span<char> into, Deadline deadline) override;
  Task<Status> write_view(std::string_view bytes, Deadline deadline) override;
  void finish() override { stream_->send_eof(wire::lane::in); }
  bool has_unread() const override { return used_ < unread_.size(); }
  void abandon() override { stream_->abandon(); }

 private:
  std::size_t take_unread(std::span<char> into);
  void take_event(StreamEvent event);

  std::unique_ptr<AgentStream> stream_;
  std::string unread_;
  std::size_t used_ = 0;  // of it
  bool ended_ = false;    // the program sends no more
  bool closed_ = false;   // and takes no more
};

}  // namespace cloche
