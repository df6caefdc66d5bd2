#include "bench/report/summary.hpp"

#include <algorithm>
#include <cmath>

namespace cloche::bench {

double percentile(std::span<const double> sorted, double share) {
  if (sorted.empty()) return 0;
  // So that 0.99 * 100, which is slightly more than 99 in floating point, does not count as 100.
  const double rank = std::ceil(share * static_cast<double>(sorted.size()) - 1e-9);
  const auto index = static_cast<std::size_t>(std::clamp(rank, 1.0, static_cast<double>(sorted.size())));
  return sorted[index - 1];
}

Summary summarise(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  return {.count = values.size(),
          .least = values.front(),
          .lower_quartile = percentile(values, 0.25),
          .p50 = percentile(values, 0.5),
          .upper_quartile = percentile(values, 0.75),
          .p99 = percentile(values, 0.99),
          .most = values.back()};
}

Summary single(double value) { return summarise({value}); }

}  // namespace cloche::bench
