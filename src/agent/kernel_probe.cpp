#include "agent/kernel_probe.hpp"

#include <sys/klog.h>
#include <sys/utsname.h>

namespace cloche::agent {

namespace {

constexpr int syslog_read_all = 3;  // SYSLOG_ACTION_READ_ALL: does not change the log

}  // namespace

// Exactly the first line. A program's name can be in the log of Linux, but not at the time 0.
bool is_log_of_gvisor(std::string_view log) { return log.starts_with("<6>[   0.000000] Starting gVisor..."); }

// The same in the releases of 2022 and 2026, whatever version of Linux they claim to be.
bool is_version_of_gvisor(std::string_view text) { return text == "#1 SMP Sun Jan 10 15:06:54 PST 2016"; }

bool is_gvisor() {
  char log[64];
  const int length = ::klogctl(syslog_read_all, log, sizeof log);
  if (length > 0 && is_log_of_gvisor({log, static_cast<std::size_t>(length)})) return true;
  struct utsname about{};
  return ::uname(&about) == 0 && is_version_of_gvisor(about.version);
}

}  // namespace cloche::agent
