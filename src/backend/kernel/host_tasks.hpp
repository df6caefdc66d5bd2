// How many threads of the host a gVisor sandbox may have.
//
// The processes of a gVisor sandbox are limited inside (RLIMIT_NPROC). Outside, its kernel needs threads for each of
// them: about 2 a process on the platform systrap, and on ptrace 5 for one that sleeps, but one for each pair of
// process and kernel thread that met, which grows with the square of what is busy. At the host's limit gVisor panics
// and the sandbox is lost, so this limit is far above what programs need; it only keeps the host's process numbers from
// being used up by one sandbox.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cloche {

constexpr std::uint32_t gvisor_host_tasks(std::uint32_t pids) {
  constexpr std::uint32_t idle = 256;
  constexpr std::uint32_t share_of_host = 8192;  // a quarter of the smallest usual pid_max
  return std::max(idle + 8 * pids, std::min(idle + 32 * pids, share_of_host));
}

}  // namespace cloche
