#include "dialect/e2b/data/signed_files.hpp"

#include <gtest/gtest.h>

#include "auth/testing/scratch.hpp"

namespace cloche::dialect::e2b {
namespace {

using namespace std::chrono_literals;

const std::string signature = "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E";

TEST(StepBudget, Rate_IsNotExceeded) {
  auth::testing::HandClock clock;
  StepBudget budget(100, clock.clocks().steady);
  EXPECT_TRUE(budget.take(60));
  EXPECT_FALSE(budget.take(60));
  EXPECT_TRUE(budget.take(40));
  EXPECT_FALSE(budget.take(1));
  clock.steady += 500ms;
  EXPECT_TRUE(budget.take(50));
  EXPECT_FALSE(budget.take(50));
  clock.steady += 1h;
  // One that costs more than a second's worth passes alone.
  EXPECT_TRUE(budget.take(1000));
  EXPECT_FALSE(budget.take(1));
}

TEST(SignedUrl, Parameters_AreRead) {
  const http::Query query(
      {{"path", "a b"}, {"username", "root"}, {"signature", signature}, {"signature_expiration", "9"}});
  const auto url = read_signed_url("POST", query);
  ASSERT_TRUE(url);
  EXPECT_EQ(url->path, "a b");
  EXPECT_EQ(url->operation, "write");
  EXPECT_EQ(url->user, "root");
  EXPECT_EQ(url->expires, "9");
  EXPECT_EQ(read_signed_url("GET", query)->operation, "read");
}

TEST(SignedUrl, AnythingElse_IsNone) {
  EXPECT_FALSE(read_signed_url("GET", http::Query(http::Query::Items{{"path", "a"}})));
  EXPECT_FALSE(read_signed_url("GET", http::Query(http::Query::Items{{"signature", signature}})));
  EXPECT_FALSE(read_signed_url("GET", http::Query({{"path", "a"}, {"signature", signature + "x"}})));
  EXPECT_FALSE(read_signed_url("GET", http::Query({{"path", "a"}, {"signature", "v2_" + signature.substr(3)}})));
}

}  // namespace
}  // namespace cloche::dialect::e2b
