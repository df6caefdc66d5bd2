// SandboxStream: a connection in a sandbox as a stream of HTTP's.
#pragma once

#include <memory>

#include "core/async/task.hpp"
#include "http/stream.hpp"
#include "sandbox/tcp_connection.hpp"

namespace cloche::egress {

class SandboxStream final : public http::Stream {
 public:
  explicit SandboxStream(std::unique_ptr<TcpConnection> connection) : connection_(std::move(connection)) {}

  Task<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) override;
  Task<Status> write_all(std::string_view bytes, Deadline deadline) override;
  Task<> end_writing(Deadline deadline) override;
  // Without end_writing() before, the program sees a reset.
  void close() override;
  bool is_quiet() override { return connection_ && !connection_->has_unread(); }
  asio::ip::tcp::socket* bare_socket(Direction) override { return connection_ ? connection_->socket() : nullptr; }

 private:
  std::shared_ptr<TcpConnection> connection_;  // shared with steps that are pending when it is closed
};

}  // namespace cloche::egress
