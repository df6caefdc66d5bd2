#include "agent/local_socket.hpp"

#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace cloche::agent {

namespace {

struct AbstractAddress {
  explicit AbstractAddress(std::string_view name) {
    address.sun_family = AF_UNIX;
    // The first byte stays zero: an abstract name, which only the sandbox's own network namespace has.
    name = name.substr(0, sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t size = 0;
};

// One byte, and room for credentials with it.
struct CredentialsMessage {
  CredentialsMessage() {
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  CredentialsMessage(const CredentialsMessage&) = delete;
  CredentialsMessage& operator=(const CredentialsMessage&) = delete;

  char byte = 'c';
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))] = {};
  msghdr message{};
};

bool set_passing(int connection, int value) {
  return ::setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &value, sizeof value) == 0;
}

}  // namespace

UniqueFd listen_locally(std::string_view name, int backlog) {
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const AbstractAddress at(name);
  if (!listener || ::bind(listener.get(), at.get(), at.size) != 0 || ::listen(listener.get(), backlog) != 0) return {};
  return listener;
}

UniqueFd connect_locally(std::string_view name) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const AbstractAddress to(name);
  if (!socket || ::connect(socket.get(), to.get(), to.size) != 0) return {};
  return socket;
}

std::optional<ucred> peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

bool send_credentials(int socket) {
  const ucred self{.pid = ::getpid(), .uid = ::geteuid(), .gid = ::getegid()};
  CredentialsMessage sent;
  cmsghdr* header = CMSG_FIRSTHDR(&sent.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_CREDENTIALS;
  header->cmsg_len = CMSG_LEN(sizeof self);
  std::memcpy(CMSG_DATA(header), &self, sizeof self);
  return ::sendmsg(socket, &sent.message, MSG_NOSIGNAL) == 1;
}

bool expect_credentials(int connection) { return set_passing(connection, 1); }

Credentials read_credentials(int connection) {
  CredentialsMessage read;
  // Descriptors that come with it do not fit, and are closed by the kernel.
  const ssize_t n = ::recvmsg(connection, &read.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  Credentials found{.state = Credentials::State::missing};
  const cmsghdr* header = n == 1 && (read.message.msg_flags & MSG_CTRUNC) == 0 ? CMSG_FIRSTHDR(&read.message) : nullptr;
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS) return found;
  found.state = Credentials::State::known;
  std::memcpy(&found.sender, CMSG_DATA(header), sizeof found.sender);
  set_passing(connection, 0);
  return found;
}

}  // namespace cloche::agent
