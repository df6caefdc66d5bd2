#include "agent/sudo/client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/kernel_probe.hpp"
#include "agent/local_socket.hpp"
#include "agent/sudo/command_line.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

constexpr std::array passed_on = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH};

[[noreturn]] void stop_with(const char* why) {
  std::fprintf(stderr, "sudo: %s\n", why);
  std::_Exit(1);
}

std::string text_of(const char* path) {
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[16 * 1024];
  for (ssize_t n = 0; file && text.size() < (1U << 20) && (n = ::read(file.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

UniqueFd connect_to_agent() {
  UniqueFd socket = connect_locally(sudo_socket_name);
  if (!socket) stop_with("not allowed in this sandbox");
  return socket;
}

// The descriptors go with the first byte.
void send_descriptors(int socket, int directory) {
  int descriptors[4] = {0, 1, 2, directory};
  for (int& each : descriptors) {
    // One that is closed is replaced: the command gets three.
    if (::fcntl(each, F_GETFD) < 0) each = ::open("/dev/null", O_RDWR);
  }
  char control[CMSG_SPACE(sizeof descriptors)] = {};
  char byte = 's';
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(header), descriptors, sizeof descriptors);
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != 1) stop_with("the agent does not respond");
}

void send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) stop_with("the agent does not respond");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Ends as the command did, by the same signal if it was one.
[[noreturn]] void end_as(int status) {
  if (!WIFSIGNALED(status)) std::_Exit(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  ::signal(number, SIG_DFL);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
  ::kill(::getpid(), number);
  std::_Exit(128 + number);
}

[[noreturn]] void wait_for_end(int socket, int signals) {
  for (;;) {
    pollfd polled[2] = {{socket, POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(polled, 2, -1) < 0 && errno != EINTR) stop_with("cannot wait for the command");
    if (polled[1].revents != 0) {
      signalfd_siginfo info{};
      if (::read(signals, &info, sizeof info) == sizeof info) {
        const auto number = static_cast<char>(info.ssi_signo);
        [[maybe_unused]] const ssize_t n = ::send(socket, &number, 1, MSG_NOSIGNAL);
      }
    }
    if (polled[0].revents == 0) continue;
    SudoAnswer answer;
    const ssize_t n = ::recv(socket, &answer, sizeof answer, MSG_WAITALL);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof answer) stop_with("the command was ended with the program that it belongs to");
    if (answer.kind == SudoAnswer::Kind::refused) stop_with("this process belongs to no running program");
    end_as(answer.status);
  }
}

}  // namespace

void run_sudo(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + std::max(argc, 1));
  SudoCaller caller{.uid = ::getuid(), .gid = ::getgid(), .passwd = text_of("/etc/passwd")};
  for (char** entry = environ; *entry != nullptr; ++entry) caller.env.emplace_back(*entry);
  auto request = read_sudo_command(args, caller);
  if (!request) {
    const SudoExit& exit = request.error();
    std::fputs(exit.text.c_str(), exit.code == 0 ? stdout : stderr);
    std::fflush(stdout);
    std::_Exit(exit.code);
  }
  request->umask = ::umask(0);
  ::umask(request->umask);
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : passed_on) ::sigaddset(&wanted, number);
  ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
  const UniqueFd signals(::signalfd(-1, &wanted, SFD_CLOEXEC));
  const UniqueFd socket = connect_to_agent();
  const UniqueFd directory(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (is_gvisor() && !send_credentials(socket.get())) stop_with("the agent does not respond");
  send_descriptors(socket.get(), directory.get());
  std::string bytes;
  wire::Encoder encoder(bytes);
  fields(encoder, *request);
  const auto size = static_cast<std::uint32_t>(bytes.size());
  send_all(socket.get(), {reinterpret_cast<const char*>(&size), sizeof size});
  send_all(socket.get(), bytes);
  wait_for_end(socket.get(), signals.get());
}

}  // namespace cloche::agent
