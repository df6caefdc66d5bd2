// Pools over every backend and runtime.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "pool/manager.hpp"
#include "support/missing.hpp"
#include "support/on_backend.hpp"
#include "support/target.hpp"

namespace cloche {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing_support::Target;

class Pools : public OnBackend {
 protected:
  // One sandbox warm, four at the most, in a pool called `box`.
  Profile profile(std::uint32_t size = 1, std::uint32_t limit = 4) const;
  static ManagerOptions with(Profile profile);

  // Starts a manager, runs the body, shuts the manager down.
  void in_manager(ManagerOptions options, std::function<Task<>(pool::Manager&)> body);
};

// A lease of the pool `box`, or a failed test and no lease.
Task<pool::Lease> lend(pool::Manager& manager);
Task<pool::Lease> lend(pool::Manager& manager, ClaimOptions options);
// What a shell line printed in the lease, stdout and stderr together; an Error fails the test.
Task<std::string> shell(pool::Lease& lease, std::string line);
// Looks again, every now and then, until it is true; fails the test when that takes too long.
Task<> eventually(std::string what, std::function<bool()> is_true);

}  // namespace cloche

#define POOLS(name) TEST_P(Pools, name)
