// The two clocks, as functions, so that a test can turn them.
#pragma once

#include <chrono>
#include <functional>

namespace cloche {

// Times in tokens are whole seconds since the epoch.
using WallTime = std::chrono::sys_seconds;
using SteadyTime = std::chrono::steady_clock::time_point;
using SteadyClock = std::function<SteadyTime()>;

struct Clocks {
  // The clock that times in tokens are compared with.
  std::function<WallTime()> wall = [] {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  };
  // The clock that intervals are measured with.
  SteadyClock steady = [] { return std::chrono::steady_clock::now(); };
};

}  // namespace cloche
