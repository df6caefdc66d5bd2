#include "sandbox/tcp_connection.hpp"

namespace cloche {

Task<Status> TcpConnection::write(std::string bytes, Deadline deadline) {
  auto sent = co_await write_view(bytes, deadline);
  co_return sent;
}

}  // namespace cloche
