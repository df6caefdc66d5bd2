#include "agent/exec/supervised.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/link/descriptors.hpp"

namespace cloche::agent {

namespace {

// Without the output totals, which the supervisor does not know.
wire::ExecEnded to_exec_ended(const SupervisorReport& report) {
  wire::ExecEnded ended;
  ended.stopped = static_cast<wire::StopReason>(report.stopped);
  ended.wall_us = report.wall_us;
  ended.user_us = report.user_us;
  ended.system_us = report.system_us;
  ended.peak_rss_bytes = report.peak_rss_bytes;
  if (report.error != 0) {
    ended.end = wire::EndKind::not_started;
    ended.error = static_cast<std::uint32_t>(report.error);
    ended.failed_step = report.failed_step;
  } else if (report.status == -1) {
    // It would not die in time; what can be said is that it was killed.
    ended.end = wire::EndKind::signalled;
    ended.signal = SIGKILL;
  } else if (WIFSIGNALED(report.status)) {
    ended.end = wire::EndKind::signalled;
    ended.signal = static_cast<std::uint32_t>(WTERMSIG(report.status));
  } else {
    ended.exit_code = static_cast<std::uint32_t>(WEXITSTATUS(report.status));
  }
  return ended;
}

}  // namespace

Result<std::pair<UniqueFd, UniqueFd>> Supervised::make_control() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return fail_errno("socketpair");
  return std::pair{UniqueFd(pair[0]), UniqueFd(pair[1])};
}

Result<std::unique_ptr<Supervised>> Supervised::fork(Loop& loop, const wire::ExecRequest& request,
                                                     const ProgramFds& fds, SupervisedEvents events) {
  CLOCHE_TRY(auto control, make_control());
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork a supervisor");
  if (pid == 0) {
    // The channel and other programs' pipes are not the supervisor's: a copy held here would keep them open.
    close_all_but({2, fds.in, fds.out, fds.err, fds.event, control.second.get()});
    supervise_new(request, fds, control.second.get());
  }
  return std::make_unique<Supervised>(loop, std::move(control.first), std::move(events));
}

Supervised::Supervised(Loop& loop, UniqueFd control, SupervisedEvents events)
    : control_(std::move(control)), events_(std::move(events)) {
  watch_ = loop.watch(control_.get(), EPOLLIN, [this](std::uint32_t) { on_readable(); });
}

void Supervised::stop(wire::StopReason reason) { command({.verb = SupervisorCommand::Verb::stop, .reason = reason}); }

void Supervised::signal(int number, wire::SignalTarget target) {
  command({.verb = SupervisorCommand::Verb::signal, .signal = number, .target = target});
}

void Supervised::elevate(UniqueFd connection, const ElevationOrder& order) {
  SupervisorCommand command{.verb = SupervisorCommand::Verb::elevate};
  ElevationOrder sent = order;
  int fd = connection.get();
  char control[CMSG_SPACE(sizeof fd)] = {};
  iovec data[2] = {{&command, sizeof command}, {&sent, sizeof sent}};
  msghdr message{};
  message.msg_iov = data;
  message.msg_iovlen = 2;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  ::sendmsg(control_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Supervised::command(const SupervisorCommand& command) {
  ::send(control_.get(), &command, sizeof command, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Supervised::on_readable() {
  SupervisorReport report{};
  ssize_t n = ::recv(control_.get(), &report, sizeof report, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // ECONNRESET is said when the supervisor ended before it read our last command: once on Linux, each time on gVisor.
  // Its own last words are still there on Linux.
  if (n < 0 && errno == ECONNRESET) n = ::recv(control_.get(), &report, sizeof report, MSG_DONTWAIT);
  if (n != sizeof report) {
    watch_.reset();
    return events_.ended(fail(ErrorCode::internal, "the program's supervisor was lost"));
  }
  if (report.has_ended == 0) return events_.started(report.pid);
  watch_.reset();
  events_.ended(to_exec_ended(report));
}

}  // namespace cloche::agent
