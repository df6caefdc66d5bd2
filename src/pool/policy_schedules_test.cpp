// Thousands of random schedules: claims, returns, departures, failures, deaths, new limits, shutdown, in any order and
// with an engine that answers late and in any order. After each step a simple model says what must be true.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "pool/policy.hpp"

namespace cloche::pool {
namespace {

using namespace std::chrono_literals;

class Schedule {
 public:
  explicit Schedule(std::uint32_t seed) : random_(seed), policy_(options()) {
    const auto& options = policy_.options();
    largest_limit_ = options.scale_limit;
    policy_.tick(now_);
    obey();
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) step();
    finish();
  }

 private:
  struct Sandbox {
    bool exists = false;             // the engine has it
    std::optional<ClaimId> order;    // the one claim that may have it
    std::optional<ClaimId> lent_to;  // as served, until given back
    std::optional<std::string> tenant;
    std::uint32_t uses = 0;
  };
  struct Claim {
    std::string tenant;
    bool wants_own = false;
    bool is_begun = false;  // its own is being made
  };

  std::uint32_t below(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random_); }
  bool chance(double share) { return std::bernoulli_distribution(share)(random_); }
  template <class Map>
  auto any_of(Map& map) {
    return std::next(map.begin(), below(static_cast<std::uint32_t>(map.size())));
  }

  PoolOptions options() {
    PoolOptions options;
    options.scale_limit = 1 + below(6);
    options.pool_size = below(options.scale_limit + 1);
    if (chance(0.5)) options.tenant_limit = 1 + below(options.scale_limit);
    options.max_uses = 1 + below(5);
    options.reuse = chance(0.8) ? Reuse::reset : Reuse::never;
    options.max_waiting = chance(0.3) ? below(4) : 1000;
    options.idle_timeout = 20s;
    options.running_timeout = 30s;
    return options;
  }

  void step() {
    now_ += std::chrono::milliseconds(below(2000));
    switch (below(12)) {
      case 0:
      case 1:
      case 2: claim(); break;
      case 3:
      case 4: give_back(); break;
      case 5: leave(); break;
      case 6:
      case 7:
      case 8:
      case 9: answer(); break;
      case 10: disturb(); break;
      case 11: policy_.tick(now_); break;
    }
    obey();
    check();
  }

  void claim() {
    static const std::vector<std::string> tenants{"", "red", "blue"};
    const ClaimId id = next_claim_++;
    waiting_[id] = {tenants[below(3)], chance(0.2)};
    policy_.claim(id, waiting_[id].tenant, chance(0.3) ? AtLimit::fail : AtLimit::wait, now_, Policy::Term::bounded,
                  waiting_[id].wants_own ? Policy::Wants::made_for_it : Policy::Wants::any);
  }
  void give_back() {
    if (leases_.empty()) return;
    const auto lease = any_of(leases_);
    const auto [claim, slot] = *lease;
    leases_.erase(lease);
    const bool taken = chance(0.2) ? policy_.destroy(slot, claim, now_) : policy_.give_back(slot, claim, now_);
    const auto sandbox = sandboxes_.find(slot);
    EXPECT_EQ(taken, sandbox != sandboxes_.end() && sandbox->second.lent_to == claim);
    if (taken) sandbox->second.lent_to.reset();
    EXPECT_FALSE(policy_.give_back(slot, claim, now_)) << "twice";
  }
  void leave() {
    if (waiting_.empty()) return;
    const auto claim = any_of(waiting_);
    EXPECT_TRUE(policy_.cancel(claim->first, now_));
    waiting_.erase(claim);
  }
  // The engine has done one of the things it was asked for.
  void answer() {
    if (pending_.empty()) return;
    const auto which = any_of(pending_);
    const Action action = *which;
    pending_.erase(which);
    if (const auto* make = std::get_if<Make>(&action)) {
      if (chance(0.2)) {
        sandboxes_.erase(make->slot);
        policy_.make_failed(make->slot, now_);
      } else {
        sandboxes_[make->slot].exists = true;
        policy_.made(make->slot, now_);
      }
    } else if (const auto* reset = std::get_if<Reset>(&action)) {
      const auto result = chance(0.1) ? Policy::ResetResult::failed : Policy::ResetResult::clean;
      policy_.reset_done(reset->slot, result, now_);
    } else if (const auto* remove = std::get_if<Remove>(&action)) {
      sandboxes_.erase(remove->slot);
      policy_.removed(remove->slot, now_);
    }
  }
  void disturb() {
    if (chance(0.2)) {
      const auto changed = options();
      largest_limit_ = std::max(largest_limit_, changed.scale_limit);
      policy_.resize(changed, now_);
    } else if (!sandboxes_.empty()) {
      policy_.died(any_of(sandboxes_)->first, now_);
    }
  }

  void obey() {
    for (const Action& action : policy_.take_actions()) {
      if (const auto* serve = std::get_if<Serve>(&action)) {
        on_serve(*serve);
      } else if (const auto* refuse = std::get_if<Refuse>(&action)) {
        EXPECT_EQ(waiting_.erase(refuse->claim), 1u) << "refused, and did not wait";
      } else {
        if (const auto* make = std::get_if<Make>(&action)) {
          sandboxes_[make->slot];
          EXPECT_LE(sandboxes_.size(), policy_.options().scale_limit);
          if (make->order) on_order(*make);
        }
        if (const auto* remove = std::get_if<Remove>(&action)) {
          sandboxes_[remove->slot].lent_to.reset();
          sandboxes_[remove->slot].order.reset();
          EXPECT_TRUE(removing_.insert(remove->slot).second) << "removed twice";
        }
        pending_.push_back(action);
      }
    }
  }

  void on_order(const Make& make) {
    const auto claim = waiting_.find(*make.order);
    ASSERT_NE(claim, waiting_.end()) << "made for a claim that did not wait";
    EXPECT_TRUE(claim->second.wants_own);
    EXPECT_FALSE(std::exchange(claim->second.is_begun, true)) << "made twice";
    EXPECT_LT(lent_to(claim->second.tenant), policy_.tenant_limit()) << "a tenant has more than its share";
    sandboxes_[make.slot].order = *make.order;
    sandboxes_[make.slot].tenant = claim->second.tenant;
  }

  void on_serve(const Serve& serve) {
    Sandbox& sandbox = sandboxes_[serve.slot];
    const auto claim = waiting_.find(serve.claim);
    ASSERT_NE(claim, waiting_.end()) << "served, and did not wait";
    EXPECT_TRUE(sandbox.exists);
    EXPECT_EQ(claim->second.wants_own, sandbox.order.has_value());
    if (sandbox.order) {
      EXPECT_EQ(*sandbox.order, serve.claim);
      EXPECT_EQ(sandbox.uses, 0u) << "used again";
      EXPECT_FALSE(removing_.contains(serve.slot));
      take(serve, sandbox, claim);
      return;
    }
    EXPECT_FALSE(sandbox.lent_to) << "lent twice";
    EXPECT_FALSE(removing_.contains(serve.slot));
    EXPECT_TRUE(!sandbox.tenant || *sandbox.tenant == claim->second.tenant) << "served another tenant";
    EXPECT_LE(++sandbox.uses, 5u);
    const std::string& tenant = claim->second.tenant;
    EXPECT_LT(lent_to(tenant), policy_.tenant_limit()) << "a tenant has more than its share";
    for (const auto& [other, passed] : waiting_) {
      const bool could_have_it = !passed.wants_own && (!sandbox.tenant || *sandbox.tenant == passed.tenant);
      if (!could_have_it) continue;
      if (passed.tenant == tenant) {
        EXPECT_GE(other, serve.claim) << "an older claim of the tenant was passed over";
      }
      EXPECT_GE(lent_to(passed.tenant), lent_to(tenant)) << "a tenant that has less was passed over";
    }
    take(serve, sandbox, claim);
  }

  void take(const Serve& serve, Sandbox& sandbox, std::map<ClaimId, Claim>::iterator claim) {
    sandbox.tenant = claim->second.tenant;
    sandbox.lent_to = serve.claim;
    leases_[serve.claim] = serve.slot;
    waiting_.erase(claim);
  }

  // One that is made for a claim counts from the beginning.
  std::uint32_t lent_to(const std::string& tenant) const {
    return static_cast<std::uint32_t>(std::ranges::count_if(sandboxes_, [&](const auto& entry) {
      const Sandbox& sandbox = entry.second;
      const bool is_coming = sandbox.order && !sandbox.exists;
      return (sandbox.lent_to || is_coming) && sandbox.tenant == tenant;
    }));
  }
  // Claims that their tenants' shares allow to be served.
  std::uint32_t eligible() const {
    std::map<std::string, std::uint32_t> waiting;
    for (const auto& [id, claim] : waiting_) waiting[claim.tenant] += claim.is_begun ? 0 : 1;
    std::uint32_t all = 0;
    for (const auto& [tenant, count] : waiting) {
      const std::uint32_t lent = lent_to(tenant);
      const std::uint32_t limit = policy_.tenant_limit();
      all += std::min(count, limit > lent ? limit - lent : 0);
    }
    return all;
  }

  void check() {
    const Counts& counts = policy_.counts();
    EXPECT_EQ(counts.total(), sandboxes_.size());
    EXPECT_LE(counts.total(), largest_limit_);
    EXPECT_EQ(policy_.waiting(), waiting_.size());
    const auto lent =
        std::ranges::count_if(sandboxes_, [](const auto& entry) { return entry.second.lent_to.has_value(); });
    EXPECT_EQ(counts.lent, lent);
    if (waiting_.empty()) return;
    // No lost wake-up: a waiting claim cannot be served now, and something will happen that serves it.
    for (const auto& [slot, sandbox] : sandboxes_) {
      if (policy_.state(slot) != SlotState::idle) continue;
      for (const auto& [id, claim] : waiting_) {
        if (claim.wants_own || lent_to(claim.tenant) >= policy_.tenant_limit()) continue;
        EXPECT_TRUE(sandbox.tenant && *sandbox.tenant != claim.tenant) << "waits beside a sandbox it could have";
      }
    }
    for (const auto& [id, claim] : waiting_) EXPECT_EQ(policy_.lent_to(claim.tenant), lent_to(claim.tenant));
    const std::uint32_t waiting = eligible();
    const bool has_room = counts.total() < policy_.options().scale_limit;
    const auto ordered = static_cast<std::uint32_t>(std::ranges::count_if(
        sandboxes_, [](const auto& entry) { return entry.second.order && !entry.second.exists; }));
    const std::uint32_t making = counts.making - ordered;
    // After failures, claims that nothing is on its way for are refused, and no more than one is made at a time.
    const bool backs_off = policy_.tries_again_at() != Time();
    EXPECT_TRUE(!has_room || making >= waiting || backs_off) << "waits beside free places";
    const std::uint32_t coming = making + counts.resetting + counts.removing;
    EXPECT_TRUE(coming >= waiting || counts.idle == 0) << "waits, and others' idle ones are not evicted";
    EXPECT_GT(coming + ordered + counts.lent, 0u) << "waits for nothing";
  }

  void finish() {
    policy_.shut_down(now_);
    obey();
    EXPECT_TRUE(waiting_.empty());
    for (int i = 0; i < 1000 && !(pending_.empty() && leases_.empty()); ++i) {
      if (chance(0.5)) answer();
      obey();
      if (chance(0.1)) give_back();
      obey();
      if (i == 500) policy_.end_leases(now_);
      obey();
    }
    EXPECT_EQ(policy_.counts().total(), 0u) << "not all gone at the end";
    EXPECT_TRUE(sandboxes_.empty());
  }

  std::mt19937 random_;
  Time now_{1000s};
  Policy policy_;
  std::uint32_t largest_limit_ = 0;
  ClaimId next_claim_ = 1;
  std::map<ClaimId, Claim> waiting_;
  std::map<ClaimId, SlotId> leases_;  // as their holders see it
  std::map<SlotId, Sandbox> sandboxes_;
  std::set<SlotId> removing_;
  std::vector<Action> pending_;
};

TEST(PolicySchedules, FiveThousandRandomOnes_KeepEveryPromise) {
  for (std::uint32_t seed = 1; seed <= 5000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Schedule(seed).run(300);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace cloche::pool
