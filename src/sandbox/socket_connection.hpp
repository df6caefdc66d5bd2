// SocketConnection: a connection of a program whose other end is a socket of this process, in the sandbox's network.
//
// SocketConnections: those of one listener, which ends them all.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <list>
#include <memory>
#include <optional>

#include "core/async/task.hpp"
#include "sandbox/frozen_time.hpp"
#include "sandbox/tcp_connection.hpp"

namespace cloche {

class SocketConnections : public std::enable_shared_from_this<SocketConnections> {
 public:
  struct Open;  // one of them

  // `frozen`: of the sandbox.
  explicit SocketConnections(std::shared_ptr<const FrozenTime> frozen);
  ~SocketConnections();

  // The socket is connected and non-blocking.
  std::unique_ptr<TcpConnection> add(asio::ip::tcp::socket socket);
  // Resets all, also those whose program still reads what was written. Their steps end with this error, and so do those
  // of connections that are added later.
  void cut(const Error& why);
  std::size_t size() const { return open_.size(); }

 private:
  std::shared_ptr<const FrozenTime> frozen_;
  std::list<std::shared_ptr<Open>> open_;
  std::optional<Error> cut_;
};

// Resets the connection at once, even if another process has a copy of the socket for a moment, and closes it.
void reset_socket(asio::ip::tcp::socket& socket);

}  // namespace cloche
