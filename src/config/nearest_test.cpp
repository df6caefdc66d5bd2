#include "config/nearest.hpp"

#include <gtest/gtest.h>

namespace cloche::config {
namespace {

const std::vector<std::string> keys{"pool_size", "scale_limit", "idle_timeout", "running_timeout", "env", "uid", "gid"};

TEST(Nearest, SlipOfTheFinger_FindsTheWord) {
  EXPECT_EQ(nearest("pool_sise", keys), "pool_size");
  EXPECT_EQ(nearest("poolsize", keys), "pool_size");
  EXPECT_EQ(nearest("pool-size", keys), "pool_size");
  EXPECT_EQ(nearest("PoolSize", keys), "pool_size");
  EXPECT_EQ(nearest("pool_isze", keys), "pool_size");
  EXPECT_EQ(nearest("idle_timout", keys), "idle_timeout");
  EXPECT_EQ(nearest("runing_timeout", keys), "running_timeout");
  EXPECT_EQ(nearest("envs", keys), "env");
}

TEST(Nearest, OtherWord_FindsNone) {
  EXPECT_EQ(nearest("server", keys), "");
  EXPECT_EQ(nearest("", keys), "");
  EXPECT_EQ(nearest("x", keys), "");
  EXPECT_EQ(nearest(std::string(1'000'000, 'a'), keys), "");
  EXPECT_EQ(nearest("pool_size", {}), "");
}

}  // namespace
}  // namespace cloche::config
