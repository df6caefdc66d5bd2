// Every case of the pools, over every backend and runtime.
#include "support/pools.hpp"

namespace cloche {

INSTANTIATE_TEST_SUITE_P(Backends, Pools, testing::ValuesIn(testing_support::all_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
