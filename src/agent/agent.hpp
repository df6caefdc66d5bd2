// The agent: process 1 of a sandbox, or the child of its relay.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace cloche::agent {

// Speaks over stdin and stdout until the channel is gone. `relay`: its child that keeps the channel, if it has one. A
// reset spares it, and what enters the sandbox from outside to connect to it.
[[noreturn]] void run_agent(std::optional<pid_t> relay = std::nullopt);

}  // namespace cloche::agent
