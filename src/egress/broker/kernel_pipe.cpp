#include "egress/broker/kernel_pipe.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace cloche::egress {

namespace {

constexpr unsigned how = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;

// Writing to a socket whose other side is gone raises SIGPIPE, which splice() cannot be told to omit. Here it is
// blocked, and taken if it was raised. Children that are started inherit nothing of it: none is started meanwhile.
class WithoutBrokenPipe {
 public:
  WithoutBrokenPipe() {
    sigemptyset(&only_);
    sigaddset(&only_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &only_, &former_);
  }
  WithoutBrokenPipe(const WithoutBrokenPipe&) = delete;
  WithoutBrokenPipe& operator=(const WithoutBrokenPipe&) = delete;
  ~WithoutBrokenPipe() {
    if (raised_ && !was_pending_) {
      const timespec at_once{};
      while (::sigtimedwait(&only_, nullptr, &at_once) < 0 && errno == EINTR) continue;
    }
    ::pthread_sigmask(SIG_SETMASK, &former_, nullptr);
  }
  void raised() { raised_ = true; }

 private:
  sigset_t only_;
  sigset_t former_;
  bool was_pending_ = false;
  bool raised_ = false;
};

Error broken(const char* step, int number) {
  return {ErrorCode::unavailable, std::string(step) + ": " + std::strerror(number)};
}

}  // namespace

Result<KernelPipes::Ends> KernelPipes::take() {
  if (!spare_.empty()) {
    Ends ends = std::move(spare_.back());
    spare_.pop_back();
    return ends;
  }
  std::array<int, 2> made{};
  if (::pipe2(made.data(), O_CLOEXEC | O_NONBLOCK) != 0) return fail_errno("create a pipe");
  Ends ends{UniqueFd(made[0]), UniqueFd(made[1])};
  // Where that is not allowed, less is moved at a time.
  ::fcntl(ends.in.get(), F_SETPIPE_SZ, static_cast<int>(KernelPipe::most));
  return ends;
}

void KernelPipes::give_back(Ends ends) {
  if (spare_.size() < most_spare) spare_.push_back(std::move(ends));
}

Result<KernelPipe::Step> KernelPipe::fill(int socket) {
  if (!ends_.in) {
    CLOCHE_TRY(ends_, pipes_->take());
  }
  for (;;) {
    const ssize_t n = ::splice(socket, nullptr, ends_.in.get(), nullptr, most, how);
    if (n > 0) {
      held_ = static_cast<std::size_t>(n);
      return Step::moved;
    }
    const int number = errno;
    if (n < 0 && number == EINTR) continue;
    release();
    if (n == 0) return Step::at_end;
    if (number == EAGAIN) return Step::must_wait;
    return fail(broken("read", number));
  }
}

Result<KernelPipe::Step> KernelPipe::drain(int socket) {
  WithoutBrokenPipe no_signal;
  for (;;) {
    const ssize_t n = ::splice(ends_.out.get(), nullptr, socket, nullptr, held_, how);
    if (n > 0) {
      held_ -= static_cast<std::size_t>(n);
      return Step::moved;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return Step::must_wait;
    if (n < 0 && errno == EPIPE) no_signal.raised();
    return fail(broken("write", n < 0 ? errno : EPIPE));
  }
}

void KernelPipe::release() {
  if (!ends_.in) return;
  // One with bytes in it is closed.
  if (held_ == 0) pipes_->give_back(std::move(ends_));
  ends_ = {};
  held_ = 0;
}

}  // namespace cloche::egress
