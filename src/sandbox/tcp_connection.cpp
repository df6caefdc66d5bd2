#include "sandbox/tcp_connection.hpp"

namespace cloche {

Task<Result<std::string>> TcpConnection::read(Deadline deadline) {
  while (!ended_) {
    auto event = co_await stream_->next(deadline);
    if (!event) co_return fail(std::move(event).error());
    if (auto* data = std::get_if<StreamData>(&*event)) co_return std::move(data->bytes);
    ended_ = std::holds_alternative<StreamEof>(*event) || std::holds_alternative<StreamClosed>(*event);
  }
  co_return std::string();
}

Task<Status> TcpConnection::write(std::string bytes, Deadline deadline) {
  auto sent = co_await stream_->send_data(wire::lane::in, std::move(bytes), deadline);
  co_return sent;
}

void TcpConnection::finish() { stream_->send_eof(wire::lane::in); }

}  // namespace cloche
