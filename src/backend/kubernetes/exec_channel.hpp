// ExecChannel: a channel over the streams of one program of a pod, by the protocol v5.channel.k8s.io.
//
// It may break at any byte, and the end of it says nothing about the program or the pod: a restarted containerd reports
// success for a program that runs. ResumableChannel, above it, continues over the next one.
#pragma once

#include <memory>
#include <string>

#include "http/client_websocket.hpp"
#include "sandbox/agent_log.hpp"
#include "sandbox/channel.hpp"

namespace cloche::kubernetes {

class ExecChannel final : public Channel {
 public:
  // `sandbox` is for messages. The program's stderr is logged with it.
  ExecChannel(std::unique_ptr<http::ClientWebSocket> socket, std::string sandbox);
  ExecChannel(const ExecChannel&) = delete;
  ExecChannel& operator=(const ExecChannel&) = delete;

  // 0 when the stream has ended, however that came about.
  Task<Result<std::size_t>> read_some(std::span<char> into) override;
  Task<Status> write_all(std::string_view bytes) override;
  void close() override { socket_->close(); }

 private:
  // False at the end of the stream.
  Result<bool> take(std::string message);

  std::unique_ptr<http::ClientWebSocket> socket_;
  std::string sandbox_;
  std::string unread_;  // a message of stdout, with its channel's byte
  std::size_t taken_ = 0;
  AgentLog log_;
  bool has_ended_ = false;
};

}  // namespace cloche::kubernetes
