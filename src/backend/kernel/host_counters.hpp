// Limits of the whole host that all sandboxes draw on, for `doctor`.
#pragma once

#include <string>

#include "sandbox/backend.hpp"

namespace cloche {

// Which of them are small: `directory` is the kernel's own, or a copy of it for a test.
Finding examine_host_counters(const std::string& directory = "/proc/sys");

}  // namespace cloche
