#include "agent/supervised.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "agent/descriptors.hpp"
#include "wire/codec.hpp"

namespace cloche::agent {

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

void Supervised::command(const SupervisorCommand& command) {
  ::send(control_.get(), &command, sizeof command, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Supervised::on_readable() {
  char buffer[4096];
  ssize_t n = ::recv(control_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // ECONNRESET is said when the supervisor ended before it read our last command: once on Linux, each time on gVisor.
  // Its own last words are still there on Linux.
  if (n < 0 && errno == ECONNRESET) n = ::recv(control_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (n <= 0) {
    watch_.reset();
    return events_.ended(fail(ErrorCode::internal, "the program's supervisor was lost"));
  }
  const std::string_view bytes(buffer, static_cast<std::size_t>(n));
  if (const auto started = wire::decode<wire::ExecStarted>(bytes))
    return events_.started(static_cast<pid_t>(started->pid));
  watch_.reset();
  events_.ended(wire::decode<wire::ExecEnded>(bytes));
}

}  // namespace cloche::agent
