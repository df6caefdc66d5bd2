// SandboxStream: a connection in a sandbox as a stream of HTTP's.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "core/async/task.hpp"
#include "http/stream.hpp"
#include "sandbox/tcp_connection.hpp"

namespace cloche::egress {

class SandboxStream final : public http::Stream {
 public:
  SandboxStream(const Executor& executor, std::unique_ptr<TcpConnection> connection)
      : connection_(std::move(connection)), closed_(executor, Deadline::Clock::time_point::max()) {}

  Task<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) override;
  Task<Status> write_all(std::string_view bytes, Deadline deadline) override;
  Task<> end_writing(Deadline deadline) override;
  // Without end_writing() before, the program sees a reset.
  void close() override;
  bool is_quiet() override { return connection_ && used_ == unread_.size(); }

 private:
  template <class T>
  Task<Result<T>> unless_closed(Task<Result<T>> step);
  Task<> wait_until_closed();

  std::shared_ptr<TcpConnection> connection_;  // shared with steps that are pending when it is closed
  std::string unread_;
  std::size_t used_ = 0;       // of it
  asio::steady_timer closed_;  // cancelled when it is
};

}  // namespace cloche::egress
