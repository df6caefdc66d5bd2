#include "agent/exec/elevated.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "agent/exec/launch.hpp"
#include "agent/identity.hpp"
#include "agent/link/descriptors.hpp"
#include "agent/sudo/sudo_protocol.hpp"
#include "core/signals.hpp"

namespace cloche::agent {

namespace {

constexpr std::size_t sent_descriptors = 4;  // stdin, stdout, stderr, work directory

bool receive_descriptors(int connection, int (&descriptors)[sent_descriptors]) {
  char control[CMSG_SPACE(sizeof descriptors)] = {};
  char byte = 0;
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n = 0;
  do {
    n = ::recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  const cmsghdr* header = n == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof descriptors)) {
    return false;
  }
  std::memcpy(descriptors, CMSG_DATA(header), sizeof descriptors);
  return true;
}

bool receive(int connection, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::recv(connection, to, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

std::optional<SudoRequest> receive_request(int connection) {
  std::uint32_t size = 0;
  if (!receive(connection, reinterpret_cast<char*>(&size), sizeof size) || size > most_sudo_request)
    return std::nullopt;
  std::string bytes(size, '\0');
  SudoRequest request;
  if (!receive(connection, bytes.data(), size) || !wire::take_fields(bytes, request) || request.argv.empty())
    return std::nullopt;
  return request;
}

[[noreturn]] void complain(const std::string& what, const char* why) {
  ::dprintf(2, "sudo: %s: %s\n", what.c_str(), why);
  ::_exit(1);
}

[[noreturn]] void become_command(int connection, const ElevationOrder& order) {
  ::setsid();
  int descriptors[sent_descriptors];
  if (!receive_descriptors(connection, descriptors)) ::_exit(1);
  const auto request = receive_request(connection);
  if (!request) ::_exit(1);
  if (!give_descriptors(descriptors[0], descriptors[1], descriptors[2])) ::_exit(1);
  for (std::uint32_t i = 0; i < std::min<std::size_t>(order.count, ElevationOrder::most_limits); ++i) {
    const rlimit value{order.limits[i].soft, order.limits[i].hard};
    if (::setrlimit(static_cast<__rlimit_resource_t>(order.limits[i].resource), &value) != 0)
      complain("set a resource limit", std::strerror(errno));
  }
  ::umask(request->umask & 0777);
  // Before it is another user, so that root can enter what only root may enter.
  const int entered = request->directory.empty() ? ::fchdir(descriptors[3]) : ::chdir(request->directory.c_str());
  if (entered != 0 && ::chdir("/") != 0) ::_exit(1);
  allow_root(true);  // who sent the order decided that
  if (!become(request->uid, request->gid, order.mark)) complain("cannot become the user", std::strerror(errno));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) complain("give up new privileges", std::strerror(errno));
  reset_all_signals();
  const std::string& program = request->program.empty() ? request->argv.front() : request->program;
  const int error = exec_searching(program, request->argv, request->env);
  complain(program, error == ENOENT ? "command not found" : std::strerror(error));
}

}  // namespace

ElevationOrder ElevationOrder::of(const std::vector<wire::Rlimit>& rlimits, gid_t mark) {
  ElevationOrder order;
  order.mark = mark;
  for (const wire::Rlimit& limit : rlimits) {
    if (order.count == most_limits) break;
    order.limits[order.count++] = {limit.resource, limit.soft, limit.hard};
  }
  return order;
}

void ElevatedCommands::start(UniqueFd connection, const ElevationOrder& order) {
  int ends[2];
  if (commands_.size() >= most || ::pipe2(ends, O_CLOEXEC) != 0) return;
  UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return;
  if (pid == 0) {
    offer_to_oom_killer();
    become_command(connection.get(), order);
  }
  commands_.push_back({pid, std::move(connection), std::move(read_end)});
}

void ElevatedCommands::on_ended(pid_t pid, int status) {
  const auto found = std::ranges::find(commands_, pid, &Command::pid);
  if (found == commands_.end()) return;
  const SudoAnswer answer{.kind = SudoAnswer::Kind::ended, .status = status};
  ::send(found->connection.get(), &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
  commands_.erase(found);
}

void ElevatedCommands::add_to(std::vector<pollfd>& polled) const {
  for (const Command& command : commands_) {
    const int fd = command.starting ? command.starting.get() : command.connection.get();
    polled.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  }
}

void ElevatedCommands::take(const pollfd* polled) {
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    if (polled[i].revents == 0) continue;
    if (commands_[i].starting) {
      commands_[i].starting.reset();  // executed, or ended
    } else {
      pass_signals(commands_[i]);
    }
  }
}

// The command leads a group of its own. If its client is gone it goes on, as a command of any sudo does.
void ElevatedCommands::pass_signals(Command& command) {
  unsigned char numbers[64];
  const ssize_t n = ::recv(command.connection.get(), numbers, sizeof numbers, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    command.connection.reset();
    return;
  }
  for (ssize_t i = 0; i < n; ++i) {
    if (numbers[i] == 0 || numbers[i] >= NSIG) continue;
    if (::kill(-command.pid, numbers[i]) != 0) ::kill(command.pid, numbers[i]);
  }
}

}  // namespace cloche::agent
