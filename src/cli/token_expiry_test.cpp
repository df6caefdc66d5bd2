#include "cli/token_expiry.hpp"

#include <gtest/gtest.h>

namespace cloche::cli {
namespace {

using namespace std::chrono_literals;

constexpr WallTime now{std::chrono::seconds{1'900'000'000}};

TEST(TokenExpiry, NumberAndUnit_IsSoLongFromNow) {
  const struct {
    const char* text;
    std::chrono::seconds after;
  } cases[] = {{"90s", 90s}, {"30m", 30min}, {"12h", 12h}, {"30d", 30 * 24h}, {"8w", 56 * 24h}};
  for (const auto& test : cases) {
    const auto expiry = parse_expiry(test.text, now);
    ASSERT_TRUE(expiry) << test.text;
    EXPECT_EQ(*expiry - now, test.after);
  }
}

TEST(TokenExpiry, Moment_IsThatMoment) {
  const auto expiry = parse_expiry("2030-03-17T17:46:41Z", now);
  ASSERT_TRUE(expiry);
  EXPECT_EQ(*expiry - now, 1s);
}

TEST(TokenExpiry, AnythingElse_IsRefused) {
  for (const char* text : {"", "d", "30", "-1d", "+1d", "1.5d", "0d", "30 d", "30y", "99999999w", "4294967296s",
                           "2030-02-30T00:00:00Z", "tomorrow"}) {
    const auto expiry = parse_expiry(text, now);
    ASSERT_FALSE(expiry) << text;
    EXPECT_EQ(expiry.error().code, ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace cloche::cli
