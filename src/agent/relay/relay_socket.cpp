#include "agent/relay/relay_socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "agent/identity.hpp"

namespace cloche::agent {

namespace {

constexpr int relay_backlog = 8;

struct AbstractAddress {
  explicit AbstractAddress(std::string_view name) {
    address.sun_family = AF_UNIX;
    // The first byte stays zero: an abstract name.
    name = name.substr(0, sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t size = 0;
};

// Of the process that connected, or that listens.
bool is_peer_root(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == agent_uid;
}

Status send_own_credentials(int socket) {
  const ucred self{.pid = ::getpid(), .uid = ::geteuid(), .gid = ::getegid()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof self)] = {};
  char byte = 'c';
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_CREDENTIALS;
  header->cmsg_len = CMSG_LEN(sizeof self);
  std::memcpy(CMSG_DATA(header), &self, sizeof self);
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != 1) return fail_errno("send credentials to the relay");
  return {};
}

}  // namespace

Result<UniqueFd> listen_for_dials(std::string_view name) {
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const AbstractAddress at(name);
  if (!listener) return fail_errno("create the relay's socket");
  if (::bind(listener.get(), at.get(), at.size) != 0) {
    if (errno == EADDRINUSE) return fail(ErrorCode::already_exists, "a relay is running already");
    return fail_errno("bind the relay's socket");
  }
  if (::listen(listener.get(), relay_backlog) != 0) return fail_errno("listen on the relay's socket");
  return listener;
}

UniqueFd accept_dial(int listener) {
  UniqueFd connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection || !is_peer_root(connection.get())) return {};
  const int on = 1;
  if (::setsockopt(connection.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return {};
  return connection;
}

std::optional<bool> has_root_credentials(int connection) {
  ucred sender{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof sender)] = {};
  char byte = 0;
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  // Descriptors that come with it do not fit, and are closed by the kernel.
  const ssize_t n = ::recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  const cmsghdr* header = n == 1 && (message.msg_flags & MSG_CTRUNC) == 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS) return false;
  std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
  const int off = 0;  // what follows is bytes alone
  ::setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
  return sender.uid == agent_uid;
}

Result<UniqueFd> connect_to_relay(std::string_view name) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const AbstractAddress to(name);
  if (!socket) return fail_errno("create a socket");
  if (::connect(socket.get(), to.get(), to.size) != 0) {
    if (errno == ECONNREFUSED) return fail(ErrorCode::unavailable, "no relay is running");
    return fail(ErrorCode::internal, "connect to the relay: " + std::string(std::strerror(errno)));
  }
  // The relay had the name first. If it is gone, so is the agent.
  if (!is_peer_root(socket.get())) return fail(ErrorCode::unavailable, "the relay's socket belongs to another user");
  CLOCHE_CHECK(send_own_credentials(socket.get()));
  return socket;
}

}  // namespace cloche::agent
