#include "agent/files/streams.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "agent/files/cancel.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

// Whether a call that failed with `number` is to be tried again.
bool again(int fd, short events, int number) {
  if (cancelled()) return false;
  if (number == EINTR) return true;
  if (number != EAGAIN) return false;
  pollfd waiting{.fd = fd, .events = events, .revents = 0};
  ::poll(&waiting, 1, -1);
  return !cancelled();
}

int failure(int number) { return cancelled() ? ECANCELED : number; }

}  // namespace

ssize_t read_some(int fd, char* buffer, std::size_t size) {
  for (;;) {
    if (cancelled()) return -ECANCELED;
    const ssize_t got = ::read(fd, buffer, size);
    // Who cancels may close the other end next: that must not look like the end of the content.
    if (got == 0 && cancelled()) return -ECANCELED;
    if (got >= 0) return got;
    const int number = errno;
    if (!again(fd, POLLIN, number)) return -failure(number);
  }
}

ssize_t read_some_at(int fd, char* buffer, std::size_t size, off_t offset) {
  for (;;) {
    if (cancelled()) return -ECANCELED;
    const ssize_t got = ::pread(fd, buffer, size, offset);
    if (got >= 0) return got;
    const int number = errno;
    if (number != EINTR) return -failure(number);
  }
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    if (cancelled()) return ECANCELED;
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
      continue;
    }
    const int number = errno;
    if (!again(fd, POLLOUT, number)) return failure(number);
  }
  return 0;
}

Result<std::string_view> ContentReader::next() {
  const ssize_t got = read_some(fd_, buffer_.data(), buffer_.size());
  if (got < 0) return fail_file(static_cast<int>(-got), "the content sent");
  return std::string_view(buffer_.data(), static_cast<std::size_t>(got));
}

Status ContentWriter::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > chunk_size) {
    CLOCHE_CHECK(flush());
    if (bytes.size() >= chunk_size) {
      if (const int number = write_all(fd_, bytes); number != 0) return fail_file(number, "the requested content");
      return {};
    }
  }
  buffer_.append(bytes);
  return {};
}

Status ContentWriter::flush() {
  const int number = write_all(fd_, buffer_);
  buffer_.clear();
  if (number != 0) return fail_file(number, "the requested content");
  return {};
}

}  // namespace cloche::agent
