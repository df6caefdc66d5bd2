// The capabilities of a sandbox's first process, the same on every backend.
#pragma once

#include <string_view>
#include <vector>

#include "cloche/spec.hpp"

namespace cloche {

// By name, without CAP_. What the agent needs to start programs as another user and to end them; the programs
// themselves have none. Where programs may be root, what root of a container is used to, over the sandbox's own files
// and processes: nothing that opens more of the kernel (no SYS_ADMIN, NET_ADMIN, SYS_PTRACE, MKNOD, SYS_CHROOT).
inline std::vector<std::string_view> capabilities_for(const SandboxSpec& spec) {
  std::vector<std::string_view> names = {"SETUID", "SETGID", "KILL"};
  if (spec.root) names.insert(names.end(), {"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "NET_BIND_SERVICE"});
  return names;
}

}  // namespace cloche
