// Abstract unix sockets of a sandbox, and who is at the other end of a connection.
//
// gVisor reports the credentials of the caller itself for SO_PEERCRED. So a connection can also begin with one byte
// that carries the sender's credentials, which every kernel checks.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string_view>

#include "core/unique_fd.hpp"

namespace cloche::agent {

// Nonblocking. None, and errno, if it cannot listen at this name.
UniqueFd listen_locally(std::string_view name, int backlog);
// Blocking. None, and errno, if no process listens there.
UniqueFd connect_locally(std::string_view name);

// As the kernel says it of the other end; not on gVisor, see above.
std::optional<ucred> peer_of(int socket);

// Sends the byte with the credentials; false, and errno, if that fails.
bool send_credentials(int socket);
// From now on the connection takes credentials.
bool expect_credentials(int connection);
struct Credentials {
  enum class State { awaited, missing, known } state = State::awaited;
  ucred sender{};
};
// Reads the byte, without waiting. What follows is bytes alone.
Credentials read_credentials(int connection);

}  // namespace cloche::agent
