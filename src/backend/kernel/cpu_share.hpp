// From a number of CPUs to the quota and the period of the kernel.
//
// Within a period, a sandbox that has used its quota stands still until the next one. The kernel's usual period of
// 100 ms makes a run of 2 ms wait for 30 ms and more; with 10 ms nothing waits longer than that. The kernel hands the
// quota out in pieces of 5 ms; smaller shares have longer periods, so that one piece fits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace cloche {

struct CpuShare {
  std::uint64_t quota_us = 0;  // 0 for no limit
  std::uint64_t period_us = 0;
  bool operator==(const CpuShare&) const = default;
};

inline CpuShare cpu_share(double cpus) {
  constexpr double shortest = 10'000;
  constexpr double longest = 100'000;
  constexpr double piece = 5'000;
  const double period = cpus > 0 ? std::round(std::clamp(piece / cpus, shortest, longest)) : longest;
  return {static_cast<std::uint64_t>(std::llround(cpus * period)), static_cast<std::uint64_t>(period)};
}

}  // namespace cloche
