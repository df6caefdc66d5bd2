// The relay's abstract unix socket: who may listen there, and who may connect.
//
// A program of the sandbox can connect to any abstract socket, and can listen at a name that is free. So both sides
// check that the other one is uid 0, also by the byte with credentials that a connection begins with.
#pragma once

#include <optional>
#include <string_view>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

// Nonblocking. `already_exists` if the name is taken.
Result<UniqueFd> listen_for_dials(std::string_view name);

// A connection of uid 0, nonblocking; none if there is no such connection now.
UniqueFd accept_dial(int listener);
// Reads the byte with the credentials: whether its sender is uid 0; nullopt if it has not arrived.
std::optional<bool> has_root_credentials(int connection);

// Blocking, with the credentials sent. `unavailable` if no process of uid 0 listens there.
Result<UniqueFd> connect_to_relay(std::string_view name);

}  // namespace cloche::agent
