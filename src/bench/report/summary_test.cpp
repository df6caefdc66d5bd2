#include "bench/report/summary.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace cloche::bench {
namespace {

std::vector<double> one_to(int last) {
  std::vector<double> values(static_cast<std::size_t>(last));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Percentile, HundredValues_AreTheirOwnRanks) {
  const auto values = one_to(100);
  EXPECT_EQ(percentile(values, 0.5), 50);
  EXPECT_EQ(percentile(values, 0.99), 99);
  EXPECT_EQ(percentile(values, 1), 100);
  EXPECT_EQ(percentile(values, 0), 1);
}

TEST(Percentile, FewValues_P99IsTheLargest) { EXPECT_EQ(percentile(one_to(20), 0.99), 20); }

TEST(Percentile, OneValue_IsEveryPercentile) {
  const std::vector<double> one{7};
  for (const double share : {0.0, 0.25, 0.5, 0.99, 1.0}) EXPECT_EQ(percentile(one, share), 7);
}

TEST(Percentile, NoValues_IsZero) { EXPECT_EQ(percentile({}, 0.5), 0); }

TEST(Summary, UnsortedValues_AreSorted) {
  const Summary summary = summarise({5, 1, 4, 2, 3});
  EXPECT_EQ(summary.count, 5U);
  EXPECT_EQ(summary.least, 1);
  EXPECT_EQ(summary.lower_quartile, 2);
  EXPECT_EQ(summary.p50, 3);
  EXPECT_EQ(summary.upper_quartile, 4);
  EXPECT_EQ(summary.most, 5);
}

TEST(Summary, OneOutlier_LeavesTheMedian) {
  auto values = one_to(99);
  values.push_back(1e9);
  EXPECT_EQ(summarise(values).p50, 50);
  EXPECT_EQ(summarise(values).p99, 99);
  EXPECT_EQ(summarise(values).most, 1e9);
}

}  // namespace
}  // namespace cloche::bench
