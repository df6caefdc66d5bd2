#include "agent/relay/relay_socket.hpp"

#include <cerrno>
#include <cstring>

#include "agent/identity.hpp"
#include "agent/local_socket.hpp"

namespace cloche::agent {

namespace {

constexpr int relay_backlog = 8;

// Of the process that connected, or that listens.
bool is_peer_root(int socket) {
  const auto peer = peer_of(socket);
  return peer && peer->uid == agent_uid;
}

}  // namespace

Result<UniqueFd> listen_for_dials(std::string_view name) {
  UniqueFd listener = listen_locally(name, relay_backlog);
  if (listener) return listener;
  if (errno == EADDRINUSE) return fail(ErrorCode::already_exists, "a relay is running already");
  return fail_errno("listen on the relay's socket");
}

UniqueFd accept_dial(int listener) {
  UniqueFd connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection || !is_peer_root(connection.get()) || !expect_credentials(connection.get())) return {};
  return connection;
}

std::optional<bool> has_root_credentials(int connection) {
  const Credentials found = read_credentials(connection);
  if (found.state == Credentials::State::awaited) return std::nullopt;
  return found.state == Credentials::State::known && found.sender.uid == agent_uid;
}

Result<UniqueFd> connect_to_relay(std::string_view name) {
  UniqueFd socket = connect_locally(name);
  if (!socket) {
    if (errno == ECONNREFUSED) return fail(ErrorCode::unavailable, "no relay is running");
    return fail(ErrorCode::internal, "connect to the relay: " + std::string(std::strerror(errno)));
  }
  // The relay had the name first. If it is gone, so is the agent.
  if (!is_peer_root(socket.get())) return fail(ErrorCode::unavailable, "the relay's socket belongs to another user");
  if (!send_credentials(socket.get())) return fail_errno("send credentials to the relay");
  return socket;
}

}  // namespace cloche::agent
