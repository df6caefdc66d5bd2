// SocketRelay: the bytes between a connected socket and a stream. Lane in goes to the socket, lane out comes from it.
//
// Each direction ends by itself. The stream closes when both have ended.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <memory>
#include <string_view>

#include "agent/exec/pumps.hpp"
#include "agent/link/server_link.hpp"

namespace cloche::agent {

class SocketRelay {
 public:
  // The stream owns the relay. The socket is non-blocking.
  static Result<std::unique_ptr<SocketRelay>> start(Stream& stream, Loop& loop, UniqueFd socket);

  // Calls of the stream; see Stream.
  void on_data(std::string_view bytes) { in_->write(bytes); }
  void on_eof();
  void on_writable() { resume(); }

  // The server is no longer interested. If it has sent all that it wanted to send, the other side may still read that,
  // as long as it makes progress; otherwise the stream is closed. The relay closes the socket when it is destroyed.
  void on_cancel();
  // Closed from now on, the socket is reset, whatever the other side has not read yet.
  void reset_when_closed();

 private:
  SocketRelay(Stream& stream, Loop& loop, UniqueFd read_side, UniqueFd write_side);
  // Straight from the socket into frames.
  void on_readable();
  void resume();
  ssize_t read_some(std::size_t most);
  void end_reading();
  int open_side() const { return read_side_ ? read_side_.get() : write_fd_; }
  void close_if_done();
  void set_linger(linger how);
  void wait_for_progress();
  std::uint64_t received() const;

  Stream& stream_;
  Loop& loop_;
  UniqueFd read_side_;  // until its end
  int write_fd_;
  bool in_ended_ = false;   // the server sends no more
  bool abandoned_ = false;  // the server reads no more
  std::uint64_t sent_ = 0;  // written to the socket
  Loop::Timer progress_timer_;
  std::unique_ptr<WritePump> in_;
  Loop::FdWatcher readable_;
};

}  // namespace cloche::agent
