#include "agent/files/watch/watch_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "wire/codec.hpp"

namespace cloche::agent {

WatchOutput::WatchOutput(int fd) : fd_(fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

void WatchOutput::add(wire::WatchEvent::Kind kind, std::string path) {
  const bool is_write = kind == wire::WatchEvent::Kind::written;
  if (is_write && path == last_written_ && !waiting_.empty()) return;
  if (waiting_.size() >= most_waiting) flush();
  if (waiting_.size() >= most_waiting) {
    if (!std::exchange(has_lost_, true)) append({wire::WatchEvent::Kind::overflow, {}});
    return;
  }
  has_lost_ = false;
  last_written_ = is_write ? path : std::string();
  append({kind, std::move(path)});
}

void WatchOutput::append(wire::WatchEvent event) {
  std::string body;
  wire::Encoder encoder(body);
  fields(encoder, event);
  wire::put_varint(waiting_, body.size());
  waiting_ += body;
}

int WatchOutput::flush() {
  std::size_t done = 0;
  int error = 0;
  while (done < waiting_.size() && error == 0) {
    const ssize_t n = ::write(fd_, waiting_.data() + done, waiting_.size() - done);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  waiting_.erase(0, done);
  return error == EAGAIN ? 0 : error;
}

}  // namespace cloche::agent
