#include "bench/report/contest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace cloche::bench {
namespace {

using ::testing::ElementsAre;

TEST(OrderOfRound, EveryOtherRound_GoesBackwards) {
  EXPECT_THAT(order_of_round(3, 0), ElementsAre(0, 1, 2));
  EXPECT_THAT(order_of_round(3, 1), ElementsAre(2, 1, 0));
}

TEST(OrderOfRound, ManyRounds_EverybodyIsFirst) {
  std::set<std::size_t> first;
  for (std::size_t round = 0; round < 8; ++round) first.insert(order_of_round(4, round).front());
  EXPECT_EQ(first.size(), 4U);
}

TEST(Contest, TwoContenders_TakeTurns) {
  std::string log;
  std::vector<Contender> contenders(2);
  contenders[0] = {.name = "a", .attempt = [&] { return log += 'a', Status{}; }};
  contenders[1] = {.name = "b", .attempt = [&] { return log += 'b', Status{}; }};
  const auto standings = hold_contest(contenders, {.warm_up = 0, .count = 4});
  ASSERT_TRUE(standings);
  EXPECT_EQ(log, "abbabaab");
  EXPECT_EQ((*standings)[0].ms.size(), 4U);
  EXPECT_EQ((*standings)[1].ms.size(), 4U);
}

TEST(Contest, WarmUp_IsDoneAndNotCounted) {
  int attempts = 0;
  std::vector<Contender> contenders(1);
  contenders[0] = {.name = "a", .attempt = [&] { return ++attempts, Status{}; }, .per_round = 2};
  const auto standings = hold_contest(contenders, {.warm_up = 3, .count = 5});
  ASSERT_TRUE(standings);
  EXPECT_EQ(attempts, 16);
  EXPECT_EQ((*standings)[0].ms.size(), 10U);
}

TEST(Contest, OneFails_IsNamedAndTheOtherGoesOn) {
  int tried = 0;
  std::vector<Contender> contenders(2);
  contenders[0] = {.name = "a", .attempt = [&]() -> Status { return ++tried, fail(ErrorCode::internal, "no"); }};
  contenders[1] = {.name = "b", .attempt = [] { return Status{}; }};
  const auto standings = hold_contest(contenders, {.warm_up = 0, .count = 5});
  ASSERT_TRUE(standings);
  EXPECT_EQ(tried, 1);
  ASSERT_TRUE((*standings)[0].failed);
  EXPECT_EQ((*standings)[0].failed->message, "no");
  EXPECT_EQ((*standings)[1].ms.size(), 5U);
}

TEST(Contest, Afterwards_FollowsEveryAttempt) {
  int undone = 0;
  std::vector<Contender> contenders(1);
  contenders[0] = {.name = "a", .attempt = [] { return Status{}; }, .afterwards = [&] { ++undone; }};
  ASSERT_TRUE(hold_contest(contenders, {.warm_up = 1, .count = 3}));
  EXPECT_EQ(undone, 4);
}

}  // namespace
}  // namespace cloche::bench
