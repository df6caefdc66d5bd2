#include "agent/sudo/gate.hpp"

#include <chrono>
#include <cstdio>

#include "agent/exec/program.hpp"
#include "agent/kernel_probe.hpp"
#include "agent/local_socket.hpp"
#include "agent/sudo/sudo_protocol.hpp"

namespace cloche::agent {

namespace {

constexpr int sudo_backlog = 16;
constexpr int most_looks = 20;
constexpr std::chrono::milliseconds between_looks{20};

// The process that connected; -1: it is not known yet. gVisor tells the credentials of who asks.
pid_t caller_of(int connection) {
  if (!is_gvisor()) return peer_of(connection).value_or(ucred{.pid = -1}).pid;
  expect_credentials(connection);
  const Credentials found = read_credentials(connection);
  return found.state == Credentials::State::known ? found.sender.pid : -1;
}

}  // namespace

void SudoGate::open() {
  if (listener_) return;
  UniqueFd listener = listen_locally(sudo_socket_name, sudo_backlog);
  if (!listener) {
    std::perror("cloche-agent: sudo");
    return;
  }
  listener_ = std::move(listener);
  watch_ = loop_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { on_connection(); });
}

void SudoGate::on_connection() {
  // Blocking, for the command that reads from it.
  UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return;
  auto caller = std::make_shared<Caller>();
  caller->connection = std::move(connection);
  place(caller);
}

// A program can be here before its supervisor has reported that it started.
void SudoGate::place(const std::shared_ptr<Caller>& caller) {
  if (caller->pid <= 0) caller->pid = caller_of(caller->connection.get());
  Program* program = caller->pid > 0 ? Program::of_process(caller->pid) : nullptr;
  if (program != nullptr) return program->elevate(std::move(caller->connection));
  if (++caller->looks <= most_looks) {
    caller->again = loop_.after(between_looks, [this, caller] { place(caller); });
    return;
  }
  const SudoAnswer refused;
  ::send(caller->connection.get(), &refused, sizeof refused, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace cloche::agent
