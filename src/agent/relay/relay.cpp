#include "agent/relay/relay.hpp"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "agent/identity.hpp"
#include "agent/link/descriptors.hpp"
#include "agent/link/loop.hpp"
#include "agent/own_process.hpp"
#include "agent/relay/exchange.hpp"
#include "agent/relay/relay_socket.hpp"

namespace cloche::agent {

namespace {

[[noreturn]] void stop_relay(const Error& error) {
  std::fprintf(stderr, "cloche-agent: relay: %s\n", error.message.c_str());
  std::_Exit(1);
}

// A process that was started without them must not get sockets and pipes as its stdin, stdout or stderr.
void ensure_standard_descriptors() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

struct StartedAgent {
  pid_t pid = -1;
  UniqueFd in;   // written to
  UniqueFd out;  // read from
};

[[noreturn]] void become_agent(pid_t relay, int in, int out) {
  // Holds until the agent first acts for a user. Afterwards the end of its stdin, which only the relay has, ends it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != relay) ::_exit(1);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || ::dup2(in, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 || ::dup2(null, STDERR_FILENO) < 0) {
    ::_exit(1);
  }
  close_on_exec_from(STDERR_FILENO + 1);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  char name[] = "cloche-agent";
  char verb[] = "init";
  char* argv[] = {name, verb, nullptr};
  char* environment[] = {nullptr};
  ::execve("/proc/self/exe", argv, environment);
  ::_exit(127);
}

Result<StartedAgent> start_agent() {
  CLOCHE_TRY(auto in, make_pipe());
  CLOCHE_TRY(auto out, make_pipe());
  const pid_t relay = ::getpid();
  StartedAgent agent;
  agent.pid = ::fork();
  if (agent.pid < 0) return fail_errno("fork");
  if (agent.pid == 0) become_agent(relay, in.first.get(), out.second.get());
  agent.in = std::move(in.second);
  agent.out = std::move(out.first);
  for (const int fd : {agent.in.get(), agent.out.get()}) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return agent;
}

// The starter's stream may end now without an effect on the relay.
Status leave_starter() {
  constexpr std::string_view ready = "ready\n";
  if (::write(STDOUT_FILENO, ready.data(), ready.size()) != static_cast<ssize_t>(ready.size()))
    return fail_errno("report that it is ready");
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail_errno("open /dev/null");
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::dup2(null.get(), fd) < 0) return fail_errno("leave the starter's descriptors");
  }
  return {};
}

// `is_ready` is closed when the relay is ready, after a byte.
[[noreturn]] void serve(UniqueFd is_ready) {
  ::setsid();
  if (::chdir("/") != 0) stop_relay(errno_error("change to /", errno));
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  const UniqueFd children(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!children) stop_relay(errno_error("signalfd", errno));

  auto listener = listen_for_dials(relay::socket_name);
  if (!listener) stop_relay(listener.error());
  auto agent = start_agent();
  if (!agent) stop_relay(agent.error());
  if (const auto left = leave_starter(); !left) stop_relay(left.error());
  if (is_ready) (void)!::write(is_ready.get(), "r", 1);
  is_ready.reset();

  Loop loop;
  Exchange exchange(loop, std::move(*listener), std::move(agent->in), std::move(agent->out), [&] { loop.stop(); });
  const auto ended = loop.watch(children.get(), EPOLLIN, [&](std::uint32_t) {
    signalfd_siginfo info;
    while (::read(children.get(), &info, sizeof info) > 0) {
    }
    // As process 1 it is also the parent of what the agent's end leaves behind.
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG | __WALL)) > 0;) {
      if (pid == agent->pid) exchange.on_agent_ended(status);
    }
  });
  loop.run();
  std::_Exit(0);
}

// What the relay has to be, whether it is the agent's parent or its child.
void begin_as_root() {
  ::prctl(PR_SET_NAME, "cloche-relay", 0, 0, 0);
  ::signal(SIGPIPE, SIG_IGN);
  if (::geteuid() != agent_uid) {
    std::fprintf(stderr, "cloche-agent: relay: must be started as uid 0 of its sandbox\n");
    std::_Exit(64);
  }
  hide_memory();
  ensure_standard_descriptors();
  close_all_but({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
  [[maybe_unused]] const int dropped = ::setgroups(0, nullptr);
  forget_environment();
}

// In the child: process 1 is the agent, with whose end the kernel ends everything.
[[noreturn]] void serve_as_child(UniqueFd listener, UniqueFd to_agent, UniqueFd from_agent) {
  ::setsid();
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) {
    if (!null || ::dup2(null.get(), fd) < 0) std::_Exit(1);
  }
  for (const int fd : {to_agent.get(), from_agent.get()}) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  Loop loop;
  Exchange exchange(loop, std::move(listener), std::move(to_agent), std::move(from_agent), [&] { loop.stop(); });
  loop.run();
  std::_Exit(0);
}

}  // namespace

pid_t start_relay_below() {
  begin_as_root();
  auto listener = listen_for_dials(relay::socket_name);
  if (!listener) stop_relay(listener.error());
  auto in = make_pipe();
  auto out = make_pipe();
  if (!in || !out) stop_relay(in ? out.error() : in.error());
  const pid_t relay = ::fork();
  if (relay < 0) stop_relay(errno_error("fork", errno));
  if (relay == 0) {
    in->first.reset();
    out->second.reset();
    serve_as_child(std::move(*listener), std::move(in->second), std::move(out->first));
  }
  if (::dup2(in->first.get(), STDIN_FILENO) < 0 || ::dup2(out->second.get(), STDOUT_FILENO) < 0)
    stop_relay(errno_error("connect the agent to its relay", errno));
  return relay;
}

void run_relay(bool foreground) {
  begin_as_root();
  if (foreground || ::getpid() == 1) serve({});

  auto report = make_pipe();
  if (!report) stop_relay(report.error());
  const pid_t relay = ::fork();
  if (relay < 0) stop_relay(errno_error("fork", errno));
  if (relay == 0) {
    report->first.reset();
    serve(std::move(report->second));
  }
  report->second.reset();
  char byte = 0;
  ssize_t n = 0;
  do {
    n = ::read(report->first.get(), &byte, 1);
  } while (n < 0 && errno == EINTR);
  std::_Exit(n == 1 ? 0 : 1);
}

}  // namespace cloche::agent
