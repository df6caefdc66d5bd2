#include "agent/exec/pumps.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cloche::agent {

namespace {

constexpr std::size_t chunk = 32 * 1024;

void make_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

ReadPump::ReadPump(Loop& loop, UniqueFd fd, OutputCaps caps, Taker taker)
    : fd_(std::move(fd)), caps_(caps), taker_(std::move(taker)) {
  make_nonblocking(fd_.get());
  watch_ = loop.watch(fd_.get(), EPOLLIN, [this](std::uint32_t) { on_readable(); });
}

void ReadPump::resume() {
  if (!fd_) return;
  watch_.want(EPOLLIN);
  if (finishing_) on_readable();
}

void ReadPump::finish() {
  if (!fd_ || finishing_) return;
  finishing_ = true;
  watch_.want(EPOLLIN);
  on_readable();
}

void ReadPump::on_readable() {
  char buffer[chunk];
  do {
    const bool dropping = produced_ >= caps_.keep || over_stop_cap_;
    const std::size_t room = dropping ? chunk : std::min(taker_.room(), chunk);
    if (room == 0) {
      watch_.want(0);  // until resume()
      return;
    }
    const ssize_t n = ::read(fd_.get(), buffer, room);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      if (finishing_) end();  // empty, and its program is gone: other holders of the write end are not waited for
      return;
    }
    if (n <= 0) return end();  // a pty says EIO when its last user is gone
    const auto size = static_cast<std::uint64_t>(n);
    const std::uint64_t kept = over_stop_cap_ || produced_ >= caps_.keep ? 0 : std::min(size, caps_.keep - produced_);
    produced_ += size;
    dropped_ += size - kept;
    if (kept > 0) taker_.bytes({buffer, kept});
    if (taker_.after_read) taker_.after_read();
    if (produced_ > caps_.stop && !over_stop_cap_) {
      over_stop_cap_ = true;
      taker_.over_stop_cap();
    }
  } while (finishing_ && fd_);
}

std::uint64_t ReadPump::written() const {
  int waiting = 0;
  if (fd_ && ::ioctl(fd_.get(), FIONREAD, &waiting) != 0) waiting = 0;
  return produced_ + static_cast<std::uint64_t>(std::max(waiting, 0));
}

void ReadPump::end() {
  watch_.reset();
  fd_.reset();
  taker_.end();
}

WritePump::WritePump(Loop& loop, UniqueFd fd, std::function<void(std::size_t)> on_written)
    : fd_(std::move(fd)), on_written_(std::move(on_written)) {
  make_nonblocking(fd_.get());
  watch_ = loop.watch(fd_.get(), 0, [this](std::uint32_t) { flush(); });
}

void WritePump::write(std::string_view bytes) {
  if (!fd_ || ending_) {
    on_written_(bytes.size());
    return;
  }
  // What the descriptor takes at once need not be kept.
  std::size_t taken = 0;
  if (queue_.empty()) {
    const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    taken = static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  }
  queue_.append(bytes.substr(taken));
  if (taken > 0) on_written_(taken);
  if (!queue_.empty()) flush();
}

void WritePump::end() {
  ending_ = true;
  flush();
}

void WritePump::abort() {
  watch_.reset();
  fd_.reset();
  drop_all();
}

void WritePump::drop_all() {
  const std::size_t left = queue_.size() - position_;
  queue_.clear();
  position_ = 0;
  if (left > 0) on_written_(left);
}

void WritePump::flush() {
  if (!fd_) return;
  std::size_t written = 0;
  bool reader_is_gone = false;
  while (position_ < queue_.size()) {
    const ssize_t n = ::write(fd_.get(), queue_.data() + position_, queue_.size() - position_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      reader_is_gone = errno != EAGAIN;
      break;
    }
    position_ += static_cast<std::size_t>(n);
    written += static_cast<std::size_t>(n);
  }
  const bool empty = position_ == queue_.size();
  if (empty) {
    queue_.clear();
    position_ = 0;
  }
  if (reader_is_gone || (empty && ending_)) {
    watch_.reset();
    ::shutdown(fd_.get(), SHUT_WR);  // a socket may be held open elsewhere for reading; not a socket, no effect
    fd_.reset();
  } else {
    watch_.want(empty ? 0U : std::uint32_t{EPOLLOUT});
  }
  if (written > 0) on_written_(written);
  if (reader_is_gone) drop_all();
}

}  // namespace cloche::agent
