// Which kernel the agent runs on. No program in the sandbox can influence the result: it comes from the kernel itself.
#pragma once

#include <string_view>

namespace cloche::agent {

// True if the kernel is gVisor. gVisor says so in the kernel log, which Linux does not show in a sandbox. A runtime can
// be configured to apply a filter that hides the log in gVisor too; the version of the kernel is then the sign.
bool is_gvisor();

// The two signs. `log` starts at the first line of the kernel log; `version` is that of uname(2).
bool is_log_of_gvisor(std::string_view log);
bool is_version_of_gvisor(std::string_view version);

}  // namespace cloche::agent
