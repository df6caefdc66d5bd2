// From the observations of the agent and the kernel to an Outcome. No I/O, and independent of the program's output.
#pragma once

#include <cstdint>
#include <optional>

#include "cloche/outcome.hpp"
#include "wire/exec_messages.hpp"

namespace cloche {

// `oom_kills`: kills for memory in the sandbox that no earlier exec has accounted for.
Outcome classify(const wire::ExecEnded& ended, std::uint64_t oom_kills);

// The whole sandbox was killed for memory, and the program with it. `peak`: of the sandbox, where it is known.
Outcome killed_with_sandbox(std::chrono::microseconds wall, std::uint64_t oom_kills, std::optional<Bytes> peak);

}  // namespace cloche
