// Summary: what many measurements of one thing come to. No mean: one slow measurement would move it, and says nothing.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace cloche::bench {

struct Summary {
  std::size_t count = 0;
  double least = 0;
  double lower_quartile = 0;
  double p50 = 0;
  double upper_quartile = 0;
  double p99 = 0;
  double most = 0;
};

// The smallest value such that at least this share (0 to 1) of all values are not above it: always a measured value.
// For fewer than a hundred values, p99 is the largest. 0 if there are none.
double percentile(std::span<const double> sorted, double share);

Summary summarise(std::vector<double> values);
// Something that was counted, not sampled.
Summary single(double value);

}  // namespace cloche::bench
