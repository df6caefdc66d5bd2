#include "http/server/request/body_budget.hpp"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

constexpr std::uint64_t free_part = BodyShare::free_of_charge;

class Budget : public ::testing::Test {
 protected:
  std::unique_ptr<BodyShare> share_of(const std::string& tenant) {
    auto share = std::make_unique<BodyShare>(budget_);
    share->charge_to(budget_->account(tenant, kib(600)));
    return share;
  }

  std::shared_ptr<BodyBudget> budget_ = std::make_shared<BodyBudget>(mib(1));
};

TEST_F(Budget, SmallBodies_CostNothing) {
  auto large = share_of("a");
  auto other = share_of("b");
  EXPECT_FALSE(large->take(kib(600).count));
  EXPECT_FALSE(other->take(kib(500).count));
  auto small = share_of("a");
  EXPECT_FALSE(small->take(free_part));
  EXPECT_EQ(small->take(kib(200).count)->status, 429u);
}

TEST_F(Budget, TenantThatHasUsedUpItsPart_Gets429_AndOthersDoNot) {
  auto first = share_of("a");
  EXPECT_FALSE(first->take(kib(600).count));
  auto second = share_of("a");
  EXPECT_EQ(second->take(kib(200).count)->status, 429u);
  auto other = share_of("b");
  EXPECT_FALSE(other->take(kib(200).count));
  EXPECT_EQ(budget_->refused(), 1u);
}

TEST_F(Budget, ServerThatHasNoneLeft_Gives503) {
  auto a = share_of("a");
  auto b = share_of("b");
  EXPECT_FALSE(a->take(kib(600).count));
  EXPECT_FALSE(b->take(kib(500).count));
  auto c = share_of("c");
  EXPECT_EQ(c->take(kib(300).count)->status, 503u);
}

TEST_F(Budget, WhatIsHeld_IsGivenBackWithTheShare) {
  for (int i = 0; i < 3; ++i) {
    auto share = share_of("a");
    EXPECT_FALSE(share->take(kib(300).count));
    EXPECT_FALSE(share->take(kib(300).count));
    EXPECT_EQ(budget_->used(), kib(600).count - free_part);
    EXPECT_TRUE(share->take(kib(300).count)) << "what is refused is not charged";
    EXPECT_EQ(budget_->used(), kib(600).count - free_part);
  }
  EXPECT_EQ(budget_->used(), 0u);
}

TEST_F(Budget, WhatHasToBeSent_CountsBeyondTheLimit) {
  auto share = share_of("a");
  share->take_anyway(mib(3).count);
  EXPECT_EQ(budget_->used(), mib(3).count - free_part);
  auto other = share_of("b");
  EXPECT_EQ(other->take(kib(100).count)->status, 503u);
  share.reset();
  EXPECT_EQ(budget_->used(), 0u);
  EXPECT_FALSE(other->take(kib(100).count));
}

TEST_F(Budget, Refusal_PutsPressureOnWhoHoldsSomething) {
  auto holder = share_of("a");
  auto small = share_of("a");
  auto other = share_of("b");
  EXPECT_FALSE(holder->take(kib(600).count));
  EXPECT_FALSE(small->take(100));
  EXPECT_FALSE(other->take(kib(200).count));
  EXPECT_FALSE(holder->under_pressure());
  auto refused = share_of("a");
  EXPECT_TRUE(refused->take(kib(300).count));
  EXPECT_TRUE(holder->under_pressure());
  EXPECT_FALSE(small->under_pressure()) << "it holds nothing that anybody misses";
  EXPECT_FALSE(other->under_pressure()) << "the server has enough; only one tenant has not";
}

TEST_F(Budget, LengthBeyondAllNumbers_IsRefused) {
  auto share = share_of("a");
  EXPECT_TRUE(share->take(std::numeric_limits<std::uint64_t>::max() - free_part));
}

}  // namespace
}  // namespace cloche::http
