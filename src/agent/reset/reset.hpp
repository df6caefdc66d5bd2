// Reset: makes a used sandbox as good as new, and proves it (or says what is left).
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "wire/exec_messages.hpp"

namespace cloche::agent {

struct ResetPlan {
  std::set<std::pair<uid_t, gid_t>> users;  // who had programs or files here
  std::set<pid_t> spared;                   // zygotes, and the relay
  bool spares_entered = false;              // and connections to the relay: see reset.cpp
  std::vector<std::string> keep;            // mounts that are the caller's own: never wiped
};

// Ends every process but this one and the spared, empties every writable place, removes all System V and POSIX ipc,
// then looks again, for sockets as well: whatever is found is in the report's `leftovers`. Blocks; the server's
// deadline bounds it.
wire::ResetReport reset_sandbox(const ResetPlan& plan);

}  // namespace cloche::agent
