#include "agent/link/socket_relay.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cloche::agent {

namespace {

// How long a reader of the last bytes may pause.
constexpr std::chrono::seconds reader_timeout{10};
// Read before other connections get their turn.
constexpr int frames_at_once = 4;

}  // namespace

Result<std::unique_ptr<SocketRelay>> SocketRelay::start(Stream& stream, Loop& loop, UniqueFd socket) {
  UniqueFd write_side(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  if (!write_side) return fail_errno("share the socket");
  return std::unique_ptr<SocketRelay>(new SocketRelay(stream, loop, std::move(socket), std::move(write_side)));
}

SocketRelay::SocketRelay(Stream& stream, Loop& loop, UniqueFd read_side, UniqueFd write_side)
    : stream_(stream), loop_(loop), read_side_(std::move(read_side)), write_fd_(write_side.get()) {
  in_ = std::make_unique<WritePump>(loop, std::move(write_side), [this](std::size_t n) {
    sent_ += n;
    stream_.return_credit(wire::lane::in, n);
    close_if_done();
  });
  readable_ = loop.watch(read_side_.get(), EPOLLIN, [this](std::uint32_t) { on_readable(); });
}

void SocketRelay::on_readable() {
  for (int frames = 0; frames < frames_at_once; ++frames) {
    const std::size_t room = abandoned_ ? wire::max_payload : stream_.sendable(wire::lane::out);
    if (room == 0) return readable_.want(0);  // until resume()
    const ssize_t n = read_some(room);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return end_reading();
    if (static_cast<std::size_t>(n) < room) return;  // that was all
  }
}

ssize_t SocketRelay::read_some(std::size_t most) {
  if (!abandoned_) return stream_.send_read(wire::lane::out, read_side_.get(), most);
  char dropped[4096];
  return ::read(read_side_.get(), dropped, std::min(most, sizeof dropped));
}

void SocketRelay::resume() {
  if (read_side_) readable_.want(EPOLLIN);
}

void SocketRelay::end_reading() {
  readable_.reset();
  read_side_.reset();
  stream_.send_eof(wire::lane::out);
  close_if_done();
}

void SocketRelay::on_eof() {
  in_ended_ = true;
  set_linger({});  // what was sent arrives, also after the socket is closed here
  in_->end();      // the other side sees the end of its input; its answer may still come
  close_if_done();
}

void SocketRelay::on_cancel() {
  if (!in_ended_) return stream_.close();
  if (abandoned_) return;
  abandoned_ = true;
  resume();
  wait_for_progress();
}

void SocketRelay::reset_when_closed() { set_linger({.l_onoff = 1, .l_linger = 0}); }

void SocketRelay::set_linger(linger how) {
  if (!read_side_ && in_->ended()) return;
  ::setsockopt(open_side(), SOL_SOCKET, SO_LINGER, &how, sizeof how);
}

void SocketRelay::close_if_done() {
  // Also when the other side is gone: bytes for it have then ended by themselves.
  if (!read_side_ && in_->ended()) stream_.close();
}

void SocketRelay::wait_for_progress() {
  progress_timer_ = loop_.after(reader_timeout, [this, before = received()] {
    if (received() == before) {
      reset_when_closed();
      return stream_.close();
    }
    wait_for_progress();
  });
}

std::uint64_t SocketRelay::received() const {
  int waiting = 0;
  if (::ioctl(open_side(), SIOCOUTQ, &waiting) != 0) waiting = 0;
  return sent_ - static_cast<std::uint64_t>(waiting);
}

}  // namespace cloche::agent
