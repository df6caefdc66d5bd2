// The system calls that a sandbox may make: an allow-list with the effect of Docker's default one for a process without
// capabilities. All else fails with EPERM.
#pragma once

#include <boost/json/object.hpp>

namespace cloche {

// crun and runc hand the filter to the host's kernel. gVisor applies it in its own kernel, and knows no other errno
// than EPERM.
enum class SeccompDialect { linux_kernel, gvisor };

// The value of `linux.seccomp` in a bundle.
boost::json::object seccomp_profile(SeccompDialect dialect);

}  // namespace cloche
