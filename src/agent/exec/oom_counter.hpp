// How often the kernel killed for memory in this sandbox, where the sandbox can see its own cgroup (the Docker engine
// shows it read-only). Where it cannot, the host counts.
#pragma once

#include <cstdint>
#include <optional>

namespace cloche::agent {

// So far; nullopt where it cannot be seen.
std::optional<std::uint64_t> read_oom_kills();

}  // namespace cloche::agent
