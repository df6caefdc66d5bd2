// How long poll(2) may wait.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/deadline.hpp"

namespace cloche::process {

// Milliseconds until the deadline, and no more than `most`: who waits looks at the deadline again.
inline int poll_time(Deadline deadline, std::chrono::milliseconds most = std::chrono::minutes(1)) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left());
  return static_cast<int>(std::min<std::int64_t>(left.count(), most.count()));
}

}  // namespace cloche::process
