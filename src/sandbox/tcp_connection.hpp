// TcpConnection: the bytes of a connection in a sandbox, over a stream of the channel or over a socket of this process.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <span>
#include <string>
#include <string_view>

#include "core/async/task.hpp"

namespace cloche {

// One reader and one writer at a time. Deadlines do not count the time for which the sandbox is frozen. Destroying it
// after finish() lets the program read what was written; without, the connection is reset.
class TcpConnection {
 public:
  TcpConnection() = default;
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;
  virtual ~TcpConnection() = default;

  // Some bytes; empty at the end.
  virtual Task<Result<std::string>> read(Deadline deadline = Deadline::never()) = 0;
  Task<Status> write(std::string bytes, Deadline deadline = Deadline::never());
  // No more bytes will be written.
  virtual void finish() = 0;

  // The same with memory of the caller's, which stays there until they return. 0 at the end.
  virtual Task<Result<std::size_t>> read_into(std::span<char> into, Deadline deadline) = 0;
  virtual Task<Status> write_view(std::string_view bytes, Deadline deadline) = 0;
  virtual bool has_unread() const = 0;
  // Resets the connection, unless it is finished. Pending steps end with the error `cancelled`.
  virtual void abandon() = 0;

  // The socket itself, for those who move bytes within the kernel; nullptr: there is none in this process. It is the
  // connection's: it closes it.
  virtual asio::ip::tcp::socket* socket() { return nullptr; }
};

}  // namespace cloche
