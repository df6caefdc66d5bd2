#include "agent/exec/orphans.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace cloche::agent {
namespace {

TEST(OrphanMark, MarksThatLive_AreDistinctAndInTheirRange) {
  std::vector<OrphanMark> marks;
  std::set<gid_t> groups;
  for (int i = 0; i < 600; ++i) {
    auto mark = OrphanMark::take();
    ASSERT_TRUE(mark);
    EXPECT_GE(mark->group(), first_mark);
    EXPECT_LE(mark->group(), last_mark);
    EXPECT_TRUE(groups.insert(mark->group()).second);
    marks.push_back(std::move(*mark));
  }
}

TEST(OrphanMark, MarkThatWasGivenBack_IsNotTheNext) {
  auto first = OrphanMark::take();
  ASSERT_TRUE(first);
  const gid_t group = first->group();
  *first = OrphanMark();
  const auto next = OrphanMark::take();
  ASSERT_TRUE(next);
  EXPECT_NE(next->group(), group);
}

TEST(OrphanMark, AllMarksTaken_IsAnErrorUntilOneIsGivenBack) {
  std::vector<OrphanMark> marks;
  for (gid_t i = first_mark; i <= last_mark; ++i) {
    auto mark = OrphanMark::take();
    ASSERT_TRUE(mark);
    marks.push_back(std::move(*mark));
  }
  const auto refused = OrphanMark::take();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limit_reached);
  const gid_t free = marks.back().group();
  marks.pop_back();
  const auto again = OrphanMark::take();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->group(), free);
}

}  // namespace
}  // namespace cloche::agent
