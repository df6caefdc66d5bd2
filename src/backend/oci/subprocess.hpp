// Runs a program of the host and waits for it: a runtime, in practice. Blocking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/oci/cgroup/cgroup.hpp"
#include "backend/oci/root/private_mounts.hpp"
#include "core/deadline.hpp"
#include "core/result.hpp"

namespace cloche::oci {

struct ResourceLimit {
  int resource = 0;         // RLIMIT_*
  std::uint64_t limit = 0;  // soft and hard; no more than the process has
};

struct Command {
  std::string program;                       // absolute path
  std::vector<std::string> arguments;        // after the program's own name
  int in = -1;                               // -1: an empty pipe
  int out = -1;                              // -1: with err
  int err = -1;                              // -1: kept and returned
  const CgroupEntrance* entrance = nullptr;  // entered before the program starts, so that all it starts is inside
  std::vector<MountStep> private_mounts;     // done in a mount namespace of its own, when there are any
  std::vector<ResourceLimit> limits;         // set before the program starts
};

struct CommandEnd {
  int exit_code = 0;   // 128 + signal when a signal ended it
  std::string output;  // the first 64 KiB of what was kept
};

// The environment is a fixed PATH alone. Past the deadline the program is killed and the error is `timeout`.
Result<CommandEnd> run_command(const Command& command, Deadline deadline);

// An in-memory file of limited size, for the stderr of a program that outlives its starter: it does not have to be
// read, and it cannot grow. Not /dev/null: crun and runsc change the owner of what they get, and that would be the
// device itself.
Result<UniqueFd> make_bounded_memory(Bytes most);
// The bytes written so far.
std::string read_bounded_memory(int fd);

}  // namespace cloche::oci
