// How many threads of the host a gVisor sandbox may have.
//
// The processes of a gVisor sandbox are limited inside (RLIMIT_NPROC). Outside, its kernel needs threads for each of
// them. On the platform systrap it is about 2 a process. On ptrace it is one for each pair of a process and a thread of
// gVisor's kernel that ever met; they are kept for later processes, so in time there are as many as the square of the
// processes. At the host's limit gVisor panics and the sandbox is lost, so the limit is above that, unless it would be
// more than a sandbox's share of the host's process numbers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cloche {

// `share`: of the host's process numbers, for one sandbox.
constexpr std::uint32_t gvisor_host_tasks(std::uint32_t pids, std::uint32_t share) {
  constexpr std::uint32_t idle = 256;
  return std::max(idle + 8 * pids, std::min(idle + pids * (pids + 64), share));
}

}  // namespace cloche
