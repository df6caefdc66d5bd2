// What a program meant whose connection the kernel redirected to the agent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/egress/name_table.hpp"

namespace cloche::agent {

struct MeantDestination {
  std::string host;  // a name that the program asked for, or an address
  std::uint16_t port = 0;
};

// nullopt if the connection was not redirected, or its address means a name that is no longer known.
std::optional<MeantDestination> meant_destination(int socket, NameTable& names);

}  // namespace cloche::agent
