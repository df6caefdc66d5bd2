// Runs a runtime, or another program of the host, and waits for it. Blocking.
#pragma once

#include <string>
#include <vector>

#include "backend/oci/cgroup/cgroup.hpp"
#include "backend/oci/root/private_mounts.hpp"
#include "core/deadline.hpp"
#include "core/result.hpp"
#include "process/spec.hpp"

namespace cloche::oci {

struct Command {
  std::string program;                         // absolute path
  std::vector<std::string> arguments;          // after the program's own name
  int in = -1;                                 // -1: an empty pipe
  int out = -1;                                // -1: with err
  int err = -1;                                // -1: kept and returned
  const CgroupEntrance* entrance = nullptr;    // entered before the program starts, so that all it starts is inside
  std::vector<MountStep> private_mounts;       // done in a mount namespace of its own, when there are any
  std::vector<process::ResourceLimit> limits;  // set before the program starts
};

struct CommandEnd {
  int exit_code = 0;   // 128 + signal when a signal ended it
  std::string output;  // the first 64 KiB of what was kept
};

// The environment is a fixed PATH alone. After the deadline the program is killed and the error is `timeout`.
Result<CommandEnd> run_command(const Command& command, Deadline deadline);

}  // namespace cloche::oci
