// AttachedChannel: the channel to an agent over the attached stdin and stdout of its container.
#pragma once

#include <memory>
#include <string>

#include "backend/docker/engine/demultiplexer.hpp"
#include "http/message.hpp"
#include "sandbox/agent_log.hpp"
#include "sandbox/channel.hpp"

namespace cloche::docker {

// Reads end with 0 when the container's output has ended, with `unavailable` when the connection to the engine broke,
// and with `protocol` when the engine sends invalid data. The agent's stderr is logged with the sandbox's id.
class AttachedChannel final : public Channel {
 public:
  AttachedChannel(http::Upgrade attached, std::string sandbox);
  AttachedChannel(const AttachedChannel&) = delete;
  AttachedChannel& operator=(const AttachedChannel&) = delete;

  Task<Result<std::size_t>> read_some(std::span<char> into) override;
  Task<Status> write_all(std::string_view bytes) override;
  void close() override;

  // True once a read found the end or an error.
  bool has_ended() const { return has_ended_; }

 private:
  Result<std::size_t> take_buffered(std::span<char> into);
  void log_stderr(std::string_view bytes);

  std::unique_ptr<http::Stream> stream_;
  std::string sandbox_;
  std::string buffer_;       // what was read last
  std::string_view unread_;  // of it, what no piece was made of yet
  std::string_view piece_;   // of it, what the reader has not taken yet
  Demultiplexer demultiplexer_;
  AgentLog agent_log_;
  bool has_ended_ = false;
};

}  // namespace cloche::docker
