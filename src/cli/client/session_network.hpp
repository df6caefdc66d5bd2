// Changing what the programs of a session can reach.
#pragma once

#include "cli/client/session_place.hpp"
#include "cloche/network.hpp"

namespace cloche::cli {

Task<Status> set_network(Service& service, SessionPlace place, NetworkPolicy network);

}  // namespace cloche::cli
