#include <algorithm>

#include "cloche/profile.hpp"

namespace cloche {

void LatencyHistogram::add(std::chrono::microseconds latency) {
  int bucket = 0;
  while (bucket < buckets - 1 && latency > first_bound * (1 << bucket)) ++bucket;
  ++counts[bucket];
  ++count;
  sum += latency;
}

std::chrono::microseconds LatencyHistogram::quantile(double share) const {
  if (count == 0) return {};
  const double wanted = std::clamp(share, 0.0, 1.0) * static_cast<double>(count);
  double seen = 0;
  int bucket = 0;
  for (; bucket < buckets - 1; ++bucket) {
    seen += static_cast<double>(counts[bucket]);
    if (seen >= wanted) break;
  }
  return first_bound * (1 << bucket);
}

}  // namespace cloche
