// Load: many clients at once, each asking again as soon as it was answered.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench/client.hpp"
#include "bench/surroundings.hpp"

namespace cloche::bench {

struct LoadResult {
  double per_second = 0;
  std::vector<double> ms;
};

// For this long; runs in progress are waited for and counted. Returns the first error if a client's run failed.
Result<LoadResult> put_load(Surroundings& surroundings, const std::vector<std::unique_ptr<Client>>& clients,
                            std::chrono::milliseconds length);

}  // namespace cloche::bench
