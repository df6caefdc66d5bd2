#include "agent/sudo/gate.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "agent/exec/program.hpp"
#include "agent/kernel_probe.hpp"
#include "agent/sudo/sudo_protocol.hpp"

namespace cloche::agent {

namespace {

constexpr int most_looks = 20;
constexpr std::chrono::milliseconds between_looks{20};

// The process that sent the first byte with its credentials; -1: none has come.
pid_t sender_of_credentials(int connection) {
  int on = 1;
  ::setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  ucred sender{};
  char control[CMSG_SPACE(sizeof sender)] = {};
  char byte = 0;
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = ::recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* header = n == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS) return -1;
  std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
  on = 0;  // the command reads descriptors from it, and nothing else
  ::setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  return sender.pid;
}

pid_t peer_of(int connection) {
  // gVisor tells the credentials of who asks.
  if (is_gvisor()) return sender_of_credentials(connection);
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : -1;
}

}  // namespace

void SudoGate::open() {
  if (listener_) return;
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The first byte stays zero: an abstract name, which only the sandbox's own network namespace has.
  std::memcpy(address.sun_path + 1, sudo_socket_name.data(), sudo_socket_name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + sudo_socket_name.size());
  if (!listener || ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener.get(), 16) != 0) {
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
  if (caller->pid <= 0) caller->pid = peer_of(caller->connection.get());
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
