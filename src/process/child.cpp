#include "process/child.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "process/poll_time.hpp"

namespace cloche::process {

int Ended::signal() const { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }

int Ended::exit_code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

Error StartFailure::as_error(const std::string& program) const {
  if (number == 0) return {ErrorCode::internal, "start " + program + ": it ended immediately"};
  return errno_error("start " + program + ": " + step, number);
}

Child::Child(pid_t pid, UniqueFd descriptor, const Spec& spec)
    : pid_(pid), descriptor_(std::move(descriptor)), program_(spec.program), session_(spec.session) {}

Child::Child(Child&& other) noexcept
    : pid_(other.pid_),
      descriptor_(std::move(other.descriptor_)),
      program_(std::move(other.program_)),
      session_(other.session_),
      reaped_(std::exchange(other.reaped_, true)),
      ended_(other.ended_) {}

Child::~Child() {
  if (reaped_) return;
  kill();
  reap();
}

Result<Child> Child::start(const Spec& spec) {
  auto child = try_start(spec);
  if (!child) return fail(child.error().as_error(spec.program));
  return std::move(*child);
}

bool Child::ends_by(Deadline deadline) const {
  if (reaped_) return true;
  for (;;) {
    pollfd ended = {descriptor_.get(), POLLIN, 0};
    if (::poll(&ended, 1, poll_time(deadline)) > 0) return true;
    if (deadline.passed()) return false;
  }
}

void Child::signal(int number) const {
  if (!reaped_) ::syscall(SYS_pidfd_send_signal, descriptor_.get(), number, nullptr, 0);
}

void Child::kill() const {
  if (reaped_) return;
  if (session_ == Spec::Session::own) ::kill(-pid_, SIGKILL);
  signal(SIGKILL);
}

const Ended& Child::reap() {
  while (!reaped_) {
    // Any other error means that there is no such child any more, and nothing to know about it.
    if (::wait4(pid_, &ended_.status, 0, &ended_.usage) == pid_ || errno != EINTR) reaped_ = true;
  }
  return ended_;
}

Result<Ended> Child::finish(Deadline deadline) {
  if (ends_by(deadline)) return reap();
  kill();
  reap();
  return fail(ErrorCode::timeout, program_ + " did not finish in time and was killed");
}

}  // namespace cloche::process
