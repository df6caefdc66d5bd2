#include "pool/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cloche::pool {
namespace {

using namespace std::chrono_literals;

// A pool whose engine acts immediately, or when the test says so.
class PolicyTest : public testing::Test {
 protected:
  static PoolOptions options(std::uint32_t size, std::uint32_t limit) {
    PoolOptions options;
    options.pool_size = size;
    options.scale_limit = limit;
    return options;
  }

  void start(PoolOptions options) {
    policy.emplace(options);
    policy->tick(now);
    obey();
  }

  // Makes, resets and removes all that was asked for; remembers the rest.
  void obey() {
    for (auto actions = policy->take_actions(); !actions.empty(); actions = policy->take_actions()) {
      for (const Action& action : actions) {
        if (const auto* make = std::get_if<Make>(&action)) policy->made(make->slot, now);
        if (const auto* reset = std::get_if<Reset>(&action)) {
          policy->reset_done(reset->slot, Policy::ResetResult::clean, now);
        }
        if (const auto* remove = std::get_if<Remove>(&action)) {
          removals.push_back(remove->reason);
          policy->removed(remove->slot, now);
        }
        remember(action);
      }
    }
  }
  // Only writes down what was asked for.
  std::vector<Action> look() {
    auto actions = policy->take_actions();
    for (const Action& action : actions) remember(action);
    return actions;
  }
  void remember(const Action& action) {
    if (const auto* serve = std::get_if<Serve>(&action)) served[serve->claim] = serve->slot;
    if (const auto* refuse = std::get_if<Refuse>(&action)) refused[refuse->claim] = refuse->reason;
  }

  void claim(ClaimId id, std::string tenant = "", AtLimit at_limit = AtLimit::wait) {
    policy->claim(id, std::move(tenant), at_limit, now);
  }
  void order(ClaimId id, std::string tenant = "", AtLimit at_limit = AtLimit::wait) {
    policy->claim(id, std::move(tenant), at_limit, now, Policy::Term::bounded, Policy::Wants::made_for_it);
  }
  void give_back(ClaimId id) { EXPECT_TRUE(policy->give_back(served.at(id), id, now)); }

  template <class Kind>
  static std::vector<Kind> only(const std::vector<Action>& actions) {
    std::vector<Kind> found;
    for (const Action& action : actions) {
      if (const auto* kind = std::get_if<Kind>(&action)) found.push_back(*kind);
    }
    return found;
  }

  Time now{1000s};
  std::optional<Policy> policy;
  std::map<ClaimId, SlotId> served;
  std::map<ClaimId, RefuseReason> refused;
  std::vector<RemoveReason> removals;
};

TEST_F(PolicyTest, Start_FillsToPoolSize) {
  start(options(3, 10));
  EXPECT_EQ(policy->counts().idle, 3u);
  EXPECT_EQ(policy->counts().total(), 3u);
}

TEST_F(PolicyTest, Claim_IsServedAtOnceAndTheStockIsRefilled) {
  start(options(2, 10));
  claim(1);
  const auto actions = look();
  EXPECT_TRUE(served.contains(1));
  EXPECT_EQ(only<Make>(actions).size(), 1u);
}

TEST_F(PolicyTest, ClaimsBeyondTheStock_GetSandboxesOfTheirOwnUpToTheLimit) {
  start(options(1, 3));
  claim(1), claim(2), claim(3), claim(4);
  obey();
  EXPECT_EQ(served.size(), 3u);
  EXPECT_EQ(policy->waiting(), 1u);
  EXPECT_EQ(policy->counts().total(), 3u);
}

TEST_F(PolicyTest, ClaimForItsOwn_GetsNoneOfTheStock) {
  start(options(2, 3));
  order(1);
  const auto made = only<Make>(look());
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made.front().order, 1u);
  EXPECT_FALSE(served.contains(1)) << "warm ones are there";
  claim(2);
  look();
  EXPECT_TRUE(served.contains(2));
  policy->made(made.front().slot, now);
  look();
  EXPECT_EQ(served.at(1), made.front().slot);
  give_back(1);
  obey();
  EXPECT_EQ(removals, std::vector{RemoveReason::never_reused});
}

TEST_F(PolicyTest, ClaimForItsOwn_InAFullPool_ReplacesAnIdleOne) {
  start(options(2, 2));
  order(1, "", AtLimit::fail);
  obey();
  EXPECT_EQ(removals, std::vector{RemoveReason::evicted});
  EXPECT_TRUE(served.contains(1));
  order(2, "", AtLimit::wait);
  obey();
  EXPECT_TRUE(served.contains(2));
  order(3, "", AtLimit::fail);
  obey();
  EXPECT_EQ(refused.at(3), RefuseReason::at_limit);
}

TEST_F(PolicyTest, ClaimForItsOwn_ThatIsGone_LeavesItsSandboxToNoOther) {
  start(options(0, 2));
  order(1);
  const auto made = only<Make>(look());
  EXPECT_EQ(policy->waiting(), 1u);
  EXPECT_TRUE(policy->cancel(1, now));
  EXPECT_FALSE(policy->cancel(1, now));
  EXPECT_EQ(policy->waiting(), 0u);
  EXPECT_EQ(policy->lent_to(""), 1u) << "until it is removed";
  claim(2);
  obey();
  EXPECT_NE(served.at(2), made.front().slot);
  policy->made(made.front().slot, now);
  obey();
  EXPECT_EQ(removals.size(), 1u);
  EXPECT_EQ(policy->lent_to(""), 1u);
}

TEST_F(PolicyTest, ClaimsForTheirOwn_CountForTheirTenantFromTheBeginning) {
  auto shared = options(0, 4);
  shared.tenant_limit = 1;
  start(shared);
  order(1, "red", AtLimit::fail);
  order(2, "red", AtLimit::fail);
  claim(3, "red", AtLimit::fail);
  order(4, "blue", AtLimit::fail);
  const auto made = only<Make>(look());
  EXPECT_EQ(made.size(), 2u);
  EXPECT_EQ(refused.at(2), RefuseReason::tenant_limit);
  EXPECT_EQ(refused.at(3), RefuseReason::tenant_limit);
  policy->make_failed(made.front().slot, now);
  look();
  EXPECT_EQ(refused.at(1), RefuseReason::make_failed);
  EXPECT_EQ(policy->lent_to("red"), 0u);
}

TEST_F(PolicyTest, SandboxesMadeForClaims_ThatFail_DoNotMakeThePoolBackOff) {
  start(options(0, 4));
  for (ClaimId id = 1; id <= 5; ++id) {
    order(id);
    const auto made = only<Make>(look());
    ASSERT_EQ(made.size(), 1u);
    policy->make_failed(made.front().slot, now);
    look();
    EXPECT_EQ(refused.at(id), RefuseReason::make_failed);
  }
  claim(6);
  obey();
  EXPECT_TRUE(served.contains(6));
}

TEST_F(PolicyTest, Shutdown_RefusesClaimsForTheirOwn) {
  start(options(0, 4));
  order(1);
  const auto made = only<Make>(look());
  policy->shut_down(now);
  look();
  EXPECT_EQ(refused.at(1), RefuseReason::shutting_down);
  policy->made(made.front().slot, now);
  obey();
  EXPECT_EQ(policy->counts().total(), 0u);
}

TEST_F(PolicyTest, ClaimThatFailsAtTheLimit_IsRefusedAtOnce) {
  start(options(1, 1));
  claim(1);
  claim(2, "", AtLimit::fail);
  obey();
  EXPECT_EQ(refused.at(2), RefuseReason::at_limit);
}

TEST_F(PolicyTest, ClaimThatFails_WaitsForASandboxThatIsBeingReset) {
  start(options(1, 1));
  claim(1);
  obey();
  give_back(1);
  claim(2, "", AtLimit::fail);
  claim(3, "", AtLimit::fail);
  obey();
  EXPECT_TRUE(served.contains(2));
  EXPECT_EQ(refused.at(3), RefuseReason::at_limit);
}

TEST_F(PolicyTest, FullQueue_Refuses) {
  auto small = options(1, 1);
  small.max_waiting = 2;
  start(small);
  for (ClaimId id = 1; id <= 4; ++id) claim(id);
  obey();
  EXPECT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused.at(4), RefuseReason::queue_full);
}

TEST_F(PolicyTest, ReturnedSandbox_GoesToTheOldestClaim) {
  start(options(1, 1));
  claim(1), claim(2), claim(3);
  obey();
  give_back(1);
  obey();
  EXPECT_TRUE(served.contains(2));
  EXPECT_FALSE(served.contains(3));
}

TEST_F(PolicyTest, ClaimThatLeaves_GivesItsPlaceUp) {
  start(options(1, 1));
  claim(1), claim(2), claim(3);
  obey();
  EXPECT_TRUE(policy->cancel(2, now));
  EXPECT_FALSE(policy->cancel(2, now));
  give_back(1);
  obey();
  EXPECT_TRUE(served.contains(3));
}

TEST_F(PolicyTest, RaisedLimit_ServesThoseWhoWait) {
  start(options(1, 1));
  claim(1), claim(2);
  obey();
  policy->resize(options(1, 2), now);
  obey();
  EXPECT_TRUE(served.contains(2));
}

TEST_F(PolicyTest, LoweredLimit_RemovesIdleOnesAndThoseGivenBack) {
  start(options(3, 5));
  claim(1), claim(2);
  obey();
  policy->resize(options(1, 1), now);
  obey();
  EXPECT_EQ(policy->counts().total(), 2u);
  give_back(1);
  obey();
  EXPECT_EQ(policy->counts().total(), 1u);
}

TEST_F(PolicyTest, FailedMaking_RefusesItsClaimAndGivesThePlaceBack) {
  policy.emplace(options(0, 1));
  claim(1);
  const auto first = only<Make>(look());
  ASSERT_EQ(first.size(), 1u);
  policy->make_failed(first[0].slot, now);
  look();
  EXPECT_EQ(refused.at(1), RefuseReason::make_failed);
  EXPECT_EQ(policy->counts().total(), 0u);
  claim(2);
  EXPECT_EQ(only<Make>(look()).size(), 1u);
}

TEST_F(PolicyTest, FailedMakingForAClaimThatWasServedMeanwhile_RefusesNobody) {
  start(options(1, 2));
  claim(1);
  const auto makes = only<Make>(look());  // the refill
  claim(2);
  ASSERT_EQ(makes.size(), 1u);
  give_back(1);
  for (const Reset& reset : only<Reset>(look())) policy->reset_done(reset.slot, Policy::ResetResult::clean, now);
  look();
  EXPECT_TRUE(served.contains(2));
  policy->make_failed(makes[0].slot, now);
  look();
  EXPECT_TRUE(refused.empty());
}

TEST_F(PolicyTest, EngineThatFails_IsAskedAgainLaterAndLater) {
  policy.emplace(options(1, 3));
  policy->tick(now);
  std::vector<std::chrono::milliseconds> pauses;
  for (int i = 0; i < 4; ++i) {
    const auto makes = only<Make>(look());
    ASSERT_EQ(makes.size(), 1u);
    policy->make_failed(makes[0].slot, now);
    const Time failed_at = now;
    while (policy->counts().making == 0) policy->tick(now += 100ms);
    pauses.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(now - failed_at));
  }
  // Varied by a quarter, and checked every 100 ms.
  auto expected = 200ms;
  for (const auto pause : pauses) {
    EXPECT_GE(pause, expected * 3 / 4);
    EXPECT_LE(pause, expected * 5 / 4 + 100ms);
    expected *= 2;
  }
}

TEST_F(PolicyTest, TwoFailuresInARow_ClaimsAreRefusedAtOnceUntilTheNextTry) {
  policy.emplace(options(0, 5));
  for (ClaimId id = 1; id <= 2; ++id) {
    claim(id);
    const auto makes = only<Make>(look());
    ASSERT_EQ(makes.size(), 1u) << "one failure may be chance";
    policy->make_failed(makes[0].slot, now);
    look();
    EXPECT_EQ(refused.at(id), RefuseReason::make_failed);
  }
  for (ClaimId id = 3; id < 1000; ++id) {
    claim(id);
    EXPECT_TRUE(only<Make>(look()).empty());
    EXPECT_EQ(refused.at(id), RefuseReason::backing_off);
  }
  now = policy->tries_again_at();
  claim(1001);
  const auto again = only<Make>(look());
  ASSERT_EQ(again.size(), 1u);
  claim(1002);
  EXPECT_TRUE(only<Make>(look()).empty()) << "one at a time, until one succeeds";
  EXPECT_EQ(refused.at(1002), RefuseReason::backing_off);
  policy->made(again[0].slot, now);
  look();
  EXPECT_TRUE(served.contains(1001));
  claim(1003), claim(1004);
  EXPECT_EQ(only<Make>(look()).size(), 2u);
}

TEST_F(PolicyTest, SandboxesThatDieAsSoonAsTheyAreMade_AreMadeLaterAndLater) {
  policy.emplace(options(1, 3));
  policy->tick(now);
  int made = 0;
  std::vector<Action> actions = look();
  for (const Time end = now + 60s; now < end; now += 100ms) {
    policy->tick(now);
    std::ranges::copy(look(), std::back_inserter(actions));
    for (const Action& action : std::exchange(actions, {})) {
      if (const auto* make = std::get_if<Make>(&action)) {
        policy->made(make->slot, now);
        policy->died(make->slot, now);
        ++made;
      }
      if (const auto* remove = std::get_if<Remove>(&action)) policy->removed(remove->slot, now);
      std::ranges::copy(look(), std::back_inserter(actions));
    }
  }
  EXPECT_LE(made, 14);
  EXPECT_GE(made, 6);
}

TEST_F(PolicyTest, FailuresThatWereUnderWayTogether_CountAsOne) {
  policy.emplace(options(5, 5));
  policy->tick(now);
  const auto makes = only<Make>(look());
  ASSERT_EQ(makes.size(), 5u);
  now += 50ms;
  const Time failed_at = now;
  for (const Make& make : makes) policy->make_failed(make.slot, now += 1ms);
  EXPECT_LE(policy->tries_again_at() - failed_at, 260ms);
  claim(1);
  EXPECT_EQ(only<Make>(look()).size(), 1u);
}

TEST_F(PolicyTest, BackingOff_ClaimsStillGetWhatIsFreeOrBeingMadeClean) {
  start(options(1, 3));
  claim(1);
  for (int i = 0; i < 3; ++i) {
    now = std::max(now, policy->tries_again_at());
    policy->tick(now);
    for (const Make& make : only<Make>(look())) policy->make_failed(make.slot, now);
  }
  give_back(1);
  claim(2);
  const auto resets = only<Reset>(look());
  ASSERT_EQ(resets.size(), 1u);
  EXPECT_FALSE(refused.contains(2));
  policy->reset_done(resets[0].slot, Policy::ResetResult::clean, now);
  look();
  EXPECT_TRUE(served.contains(2));
}

TEST_F(PolicyTest, IdleBeyondPoolSize_IsRemovedAfterTheTimeoutAndNotBefore) {
  start(options(1, 5));
  claim(1), claim(2), claim(3);
  obey();
  now += 100s;
  give_back(1), give_back(2), give_back(3);
  obey();
  ASSERT_EQ(policy->counts().idle, 4u);
  policy->tick(now += 599s);  // the one that was not leased became idle long ago, but it is one of many
  obey();
  EXPECT_EQ(policy->counts().idle, 3u);
  policy->tick(now += 1s);
  obey();
  EXPECT_EQ(policy->counts().idle, 1u);
  policy->tick(now += 10'000s);
  obey();
  EXPECT_EQ(policy->counts().idle, 1u);
}

TEST_F(PolicyTest, LeaseOlderThanRunningTimeout_Ends) {
  start(options(1, 1));
  claim(1), claim(2);
  obey();
  policy->tick(now += 120s);
  obey();
  EXPECT_EQ(removals, std::vector{RemoveReason::lent_too_long});
  EXPECT_TRUE(served.contains(2));
  EXPECT_FALSE(policy->give_back(served.at(1), 1, now));
}

TEST_F(PolicyTest, LastingLease_DoesNotEndByItself) {
  start(options(1, 2));
  policy->claim(1, "red", AtLimit::wait, now, Policy::Term::lasting);
  obey();
  policy->tick(now += 10'000s);
  obey();
  EXPECT_EQ(policy->counts().lent, 1u);
  give_back(1);
}

TEST_F(PolicyTest, SandboxThatWasLentBefore_IsStillLentAndCanBeGivenBack) {
  policy.emplace(options(0, 2));
  const SlotId slot = policy->adopt_lent(7, "red", 3, now);
  policy->tick(now += 10'000s);
  EXPECT_EQ(policy->state(slot), SlotState::lent);
  EXPECT_TRUE(policy->destroy(slot, 7, now));
  obey();
  EXPECT_EQ(policy->counts().total(), 0u);
}

TEST_F(PolicyTest, WornOutSandbox_IsReplaced) {
  auto worn = options(1, 1);
  worn.max_uses = 2;
  start(worn);
  for (ClaimId id = 1; id <= 2; ++id) {
    claim(id);
    obey();
    give_back(id);
    obey();
  }
  EXPECT_EQ(removals, std::vector{RemoveReason::worn_out});
  EXPECT_EQ(policy->counts().idle, 1u);
}

TEST_F(PolicyTest, ReuseNever_ReplacesAfterEachUse) {
  auto fresh = options(1, 1);
  fresh.reuse = Reuse::never;
  start(fresh);
  claim(1);
  obey();
  give_back(1);
  obey();
  EXPECT_EQ(removals, std::vector{RemoveReason::never_reused});
  EXPECT_EQ(policy->counts().idle, 1u);
}

TEST_F(PolicyTest, FailedReset_Destroys) {
  start(options(1, 1));
  claim(1);
  obey();
  give_back(1);
  for (const Reset& reset : only<Reset>(look())) policy->reset_done(reset.slot, Policy::ResetResult::failed, now);
  obey();
  EXPECT_EQ(removals, std::vector{RemoveReason::reset_failed});
}

TEST_F(PolicyTest, SandboxThatServedATenant_NeverServesAnother) {
  start(options(1, 1));
  claim(1, "red");
  obey();
  const SlotId red = served.at(1);
  give_back(1);
  obey();
  claim(2, "blue");
  obey();
  EXPECT_NE(served.at(2), red);
  EXPECT_EQ(removals, std::vector{RemoveReason::evicted});
}

TEST_F(PolicyTest, TenantThatComesBack_GetsItsOwnSandboxRatherThanAFreshOne) {
  start(options(2, 4));
  claim(1, "red");
  obey();
  give_back(1);
  obey();
  claim(2, "red");
  obey();
  EXPECT_EQ(served.at(2), served.at(1));
}

TEST_F(PolicyTest, ClaimOfAnotherTenantAtTheFront_IsNotPassedByReturnsOfABusyTenant) {
  start(options(1, 1));
  claim(1, "red"), claim(2, "blue"), claim(3, "red");
  obey();
  give_back(1);
  obey();
  EXPECT_TRUE(served.contains(2));
  EXPECT_FALSE(served.contains(3));
}

TEST_F(PolicyTest, TenantWithManyClaims_DoesNotKeepAnotherFromItsTurn) {
  start(options(0, 2));
  for (ClaimId id = 1; id <= 100; ++id) claim(id, "red");
  obey();
  claim(101, "blue"), claim(102, "blue");
  obey();
  EXPECT_FALSE(served.contains(101));
  give_back(1);
  obey();
  EXPECT_TRUE(served.contains(101)) << "it has none, and red has one";
  EXPECT_FALSE(served.contains(3));
}

TEST_F(PolicyTest, TenantsWithOneSandboxBetweenThem_TakeTurns) {
  start(options(0, 1));
  for (ClaimId id = 1; id <= 6; ++id) claim(id, "red");
  for (ClaimId id = 11; id <= 16; ++id) claim(id, "blue");
  obey();
  std::vector<ClaimId> order;
  for (int i = 0; i < 6; ++i) {
    for (const auto& [id, slot] : served) {
      if (std::ranges::find(order, id) == order.end()) order.push_back(id);
    }
    give_back(order.back());
    obey();
  }
  EXPECT_EQ(order, (std::vector<ClaimId>{1, 11, 2, 12, 3, 13}));
}

TEST_F(PolicyTest, TenantLimit_LeavesTheRestToOthers) {
  auto limited = options(0, 4);
  limited.tenant_limit = 2;
  start(limited);
  claim(1, "red"), claim(2, "red"), claim(3, "red");
  claim(4, "red", AtLimit::fail);
  obey();
  EXPECT_TRUE(served.contains(2));
  EXPECT_FALSE(served.contains(3));
  EXPECT_EQ(refused.at(4), RefuseReason::tenant_limit);
  EXPECT_EQ(policy->counts().total(), 2u) << "none is made for a claim that may not have it";
  claim(5, "blue", AtLimit::fail), claim(6, "blue", AtLimit::fail);
  obey();
  EXPECT_TRUE(served.contains(5));
  EXPECT_TRUE(served.contains(6));
  give_back(1);
  obey();
  EXPECT_TRUE(served.contains(3));
}

TEST_F(PolicyTest, LastingClaimBeyondTheTenantLimit_IsRefusedAtOnce) {
  auto limited = options(0, 4);
  limited.tenant_limit = 1;
  start(limited);
  policy->claim(1, "red", AtLimit::wait, now, Policy::Term::lasting);
  policy->claim(2, "red", AtLimit::wait, now, Policy::Term::lasting);
  obey();
  EXPECT_TRUE(served.contains(1));
  EXPECT_EQ(refused.at(2), RefuseReason::tenant_limit);
}

TEST_F(PolicyTest, TenantLimit_IsAlsoItsShareOfTheQueue) {
  auto limited = options(0, 4);
  limited.tenant_limit = 2;
  limited.max_waiting = 4;
  start(limited);
  for (ClaimId id = 1; id <= 6; ++id) claim(id, "red");
  obey();
  EXPECT_FALSE(refused.contains(4));
  EXPECT_EQ(refused.at(5), RefuseReason::queue_full);
  for (ClaimId id = 11; id <= 14; ++id) claim(id, "blue");
  obey();
  EXPECT_EQ(served.count(11) + served.count(12), 2u);
  EXPECT_FALSE(refused.contains(14));
}

TEST_F(PolicyTest, SeveralTenants_FreshStockIsKeptForTheNext) {
  start(options(2, 4));
  claim(1, "red"), claim(2, "blue"), claim(3, "red"), claim(4, "blue");
  obey();
  for (ClaimId id = 1; id <= 4; ++id) give_back(id);
  obey();
  ASSERT_EQ(policy->counts().idle, 4u);
  policy->tick(now += 5s);
  obey();
  claim(5, "green"), claim(6, "white");
  look();
  EXPECT_TRUE(served.contains(5));
  EXPECT_TRUE(served.contains(6));
}

TEST_F(PolicyTest, DeadIdleSandbox_IsReplaced) {
  start(options(1, 1));
  policy->died(1, now);
  obey();
  EXPECT_EQ(removals, std::vector{RemoveReason::died});
  EXPECT_EQ(policy->counts().idle, 1u);
}

TEST_F(PolicyTest, SandboxThatDiesWhileLent_IsRemovedWhenItIsGivenBack) {
  start(options(1, 1));
  claim(1);
  obey();
  policy->died(served.at(1), now);
  obey();
  EXPECT_TRUE(removals.empty());
  give_back(1);
  obey();
  EXPECT_EQ(removals, std::vector{RemoveReason::died});
}

TEST_F(PolicyTest, GiveBackTwiceOrByAStranger_IsHarmless) {
  start(options(2, 2));
  claim(1), claim(2);
  obey();
  give_back(1);
  EXPECT_FALSE(policy->give_back(served.at(1), 1, now));
  EXPECT_FALSE(policy->destroy(served.at(1), 1, now));
  EXPECT_FALSE(policy->give_back(served.at(2), 1, now));
  EXPECT_FALSE(policy->give_back(99, 2, now));
  EXPECT_EQ(policy->counts().lent, 1u);
}

TEST_F(PolicyTest, OldLeaseOfASandboxThatIsLentAgain_CannotGiveItBack) {
  start(options(1, 1));
  claim(1);
  obey();
  give_back(1);
  obey();
  claim(2);
  obey();
  ASSERT_EQ(served.at(1), served.at(2));
  EXPECT_FALSE(policy->give_back(served.at(1), 1, now));
  EXPECT_EQ(policy->counts().lent, 1u);
}

TEST_F(PolicyTest, ShutDown_RefusesWhoWaitsAndWhoComesAndRemovesAll) {
  start(options(2, 3));
  claim(1), claim(2), claim(3), claim(4);
  obey();
  policy->shut_down(now);
  claim(5);
  obey();
  EXPECT_EQ(refused.at(4), RefuseReason::shutting_down);
  EXPECT_EQ(refused.at(5), RefuseReason::shutting_down);
  EXPECT_EQ(policy->counts().total(), 3u);
  give_back(1);
  obey();
  EXPECT_EQ(policy->counts().total(), 2u);
  policy->end_leases(now);
  obey();
  EXPECT_EQ(policy->counts().total(), 0u);
}

TEST_F(PolicyTest, SandboxMadeDuringShutDown_IsRemoved) {
  policy.emplace(options(1, 1));
  policy->tick(now);
  const auto makes = only<Make>(look());
  policy->shut_down(now);
  EXPECT_TRUE(policy->is_unwanted(makes.at(0).slot));
  policy->made(makes.at(0).slot, now);
  obey();
  EXPECT_EQ(policy->counts().total(), 0u);
}

}  // namespace
}  // namespace cloche::pool
