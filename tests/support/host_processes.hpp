// A sandbox's processes as the host sees them, for tests that kill them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "support/target.hpp"

namespace cloche::testing_support {

// The engine's name for a sandbox of the Docker backend; empty when it has none.
std::string container_of(const std::string& sandbox_id);

// All that run.
std::vector<pid_t> processes_of(const Target& target, const std::string& sandbox_id);

// Process 1, the agent; on gVisor the kernel in which it lives. -1 when it is gone.
pid_t first_process_of(const Target& target, const std::string& sandbox_id);

// The process whose arguments contain these words; 0: none.
pid_t process_with(const std::string& words);

// The supervisors of running execs. On gVisor the host does not see them.
std::vector<pid_t> supervisors_of(const Target& target, const std::string& sandbox_id);

}  // namespace cloche::testing_support
