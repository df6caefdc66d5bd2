// What a gVisor sandbox may take from the host for the processes and the memory that its programs may have.
//
// The processes of a gVisor sandbox are limited inside (RLIMIT_NPROC). Outside, its kernel needs threads for each of
// them. On the platform systrap it is about 2 a process. On ptrace it is one for each pair of a process and a thread of
// gVisor's kernel that ever met; they are kept for later processes, so in time there are as many as the square of the
// processes. At the host's limit gVisor panics and the sandbox is lost, so the limit is above that, unless it would be
// more than a sandbox's share of the host's process numbers.
//
// Its memory is guarded by the server (sandbox/memory_guard.hpp), which kills a program at the limit. The host's limit
// is above that by what can be filled until the program is dead: about 1.5 seconds when it is a fork bomb.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/bytes.hpp"

namespace cloche {

// `share`: of the host's process numbers, for one sandbox.
constexpr std::uint32_t gvisor_host_tasks(std::uint32_t pids, std::uint32_t share) {
  constexpr std::uint32_t idle = 256;
  return std::max(idle + 8 * pids, std::min(idle + pids * (pids + 64), share));
}

// For a backend that guards memory; without a guard the limit is the sandbox's own.
constexpr Bytes gvisor_host_memory(Bytes memory) {
  return Bytes{memory.count + mib(64).count + std::min(memory.count / 2, mib(512).count)};
}

}  // namespace cloche
