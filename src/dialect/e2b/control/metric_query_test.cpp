#include "dialect/e2b/control/metric_query.hpp"

#include <gtest/gtest.h>

namespace cloche::dialect::e2b {
namespace {

Moment at(int second) { return Moment(std::chrono::seconds(second)); }

MetricQuery metrics_of(const std::string& text) {
  const auto wanted = read_metric_query(*http::parse_query(text));
  EXPECT_TRUE(wanted) << text;
  return wanted.value_or(MetricQuery());
}

TEST(MetricQuery, NoTimes_HasEverySample) { EXPECT_TRUE(metrics_of("").has(at(7))); }

TEST(MetricQuery, SampleOutsideOfTheTimes_IsNotWanted) {
  EXPECT_TRUE(metrics_of("start=100&end=200").has(at(100)));
  EXPECT_TRUE(metrics_of("start=100&end=200").has(at(200)));
  EXPECT_FALSE(metrics_of("start=100&end=200").has(at(99)));
  EXPECT_FALSE(metrics_of("end=200").has(at(206)));
  EXPECT_FALSE(metrics_of("start=100").has(at(99)));
}

TEST(MetricQuery, SampleJustAfterTheEnd_RepresentsTheTimeBefore) { EXPECT_TRUE(metrics_of("end=200").has(at(203))); }

TEST(MetricQuery, InvalidTimes_AreRejected) {
  for (const char* text : {"start=x", "end=-1", "start=1.5", "start=99999999999999", "start=20&end=10"}) {
    const auto wanted = read_metric_query(*http::parse_query(text));
    ASSERT_FALSE(wanted) << text;
    EXPECT_EQ(wanted.error().code, ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace cloche::dialect::e2b
