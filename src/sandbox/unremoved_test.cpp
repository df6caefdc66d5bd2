#include "sandbox/unremoved.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const Unremoved::Time start = Unremoved::Time() + 1h;

TEST(UnremovedList, FailedRemoval_IsDueAgainAfterAPauseThatDoublesUpToFiveMinutes) {
  UnremovedList list;
  auto now = start;
  std::vector<std::chrono::seconds> pauses;
  for (int i = 0; i < 10; ++i) {
    list.failed("s", "it hangs", now);
    std::chrono::seconds pause{0};
    while (list.due(now + pause).empty()) pause += 1s;
    pauses.push_back(pause);
    now += pause;
  }
  EXPECT_THAT(pauses, ElementsAre(2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 300s, 300s));
}

TEST(UnremovedList, SeveralTries_AreOneEntrySinceTheFirst) {
  UnremovedList list;
  list.failed("younger", "busy", start + 1s);
  list.failed("older", "busy", start);
  list.failed("older", "it hangs", start + 10s);
  const auto all = list.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].sandbox, "older");
  EXPECT_EQ(all[0].why, "it hangs");
  EXPECT_EQ(all[0].tries, 2u);
  EXPECT_EQ(all[0].since, start);
}

TEST(UnremovedList, RemovedOne_IsForgotten) {
  UnremovedList list;
  list.failed("s", "busy", start);
  list.removed("s");
  list.removed("never there");
  EXPECT_THAT(list.all(), IsEmpty());
  EXPECT_THAT(list.due(start + 1h), IsEmpty());
}

}  // namespace
}  // namespace cloche
