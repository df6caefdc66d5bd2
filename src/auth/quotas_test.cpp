#include "auth/quotas.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "auth/testing/scratch.hpp"

namespace cloche::auth {
namespace {

using testing::HandClock;
using namespace std::chrono_literals;

AuthorizedTenant tenant(const std::string& name) { return *AuthorizedTenant::of_record(name); }
Principal user(const std::string& name) { return {.tenant = name}; }

struct QuotasTest : ::testing::Test {
  Quotas make(QuotaOptions options) {
    EXPECT_TRUE(check_quotas(options));
    return {std::move(options), clock.clocks().steady};
  }
  // How many of so many requests at once are admitted.
  int admitted(Quotas& quotas, const std::string& name, int requests) {
    int count = 0;
    for (int i = 0; i < requests; ++i) count += quotas.admit_request(user(name)) ? 1 : 0;
    return count;
  }

  HandClock clock;
};

TEST_F(QuotasTest, BurstThenRate_IsWhatIsAdmitted) {
  Quotas quotas = make({.limits = {.requests = Rate{.per_second = 10, .burst = 5}}});
  EXPECT_EQ(admitted(quotas, "a", 20), 5);
  clock.pass(99ms);
  EXPECT_EQ(admitted(quotas, "a", 20), 0);
  clock.pass(1ms);
  EXPECT_EQ(admitted(quotas, "a", 20), 1);
  clock.pass(300ms);
  EXPECT_EQ(admitted(quotas, "a", 20), 3);
  clock.pass(1h);
  EXPECT_EQ(admitted(quotas, "a", 20), 5) << "rest does not pile up";
}

TEST_F(QuotasTest, EgressRequests_HaveARateOfTheirOwn) {
  Quotas quotas = make({.limits = {.requests = Rate{.per_second = 1, .burst = 1},
                                   .egress_requests = Rate{.per_second = 2, .burst = 2}}});
  EXPECT_TRUE(quotas.admit_egress_request(tenant("a")));
  EXPECT_TRUE(quotas.admit_egress_request(tenant("a")));
  const auto refused = quotas.admit_egress_request(tenant("a"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().quota, Quota::egress_requests);
  EXPECT_TRUE(quotas.admit_egress_request(tenant("b")));
  EXPECT_EQ(admitted(quotas, "a", 2), 1);
  clock.pass(500ms);
  EXPECT_TRUE(quotas.admit_egress_request(tenant("a")));
}

TEST_F(QuotasTest, EgressBytes_AreLimitedByTheMinute) {
  Quotas quotas = make({.limits = {.egress_bytes = 6000}});
  EXPECT_TRUE(quotas.count_egress_bytes(tenant("a"), 6000));
  EXPECT_TRUE(quotas.count_egress_bytes(tenant("a"), 0));
  const auto refused = quotas.count_egress_bytes(tenant("a"), 100);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().quota, Quota::egress_bytes);
  EXPECT_EQ(refused.error().retry_after, 1s);
  EXPECT_FALSE(quotas.count_egress_bytes(tenant("a"), 0)) << "until a second has passed";
  EXPECT_TRUE(quotas.count_egress_bytes(tenant("b"), 100));
  clock.pass(1s);
  EXPECT_TRUE(quotas.count_egress_bytes(tenant("a"), 0));
  clock.pass(2min);
  EXPECT_TRUE(quotas.count_egress_bytes(tenant("a"), 6000)) << "rest does not pile up";
  EXPECT_FALSE(quotas.count_egress_bytes(tenant("a"), 1));
}

TEST_F(QuotasTest, EgressBytesOfZero_AllowNone) {
  Quotas quotas = make({.limits = {.egress_bytes = 0}});
  EXPECT_FALSE(quotas.count_egress_bytes(tenant("a"), 0));
}

TEST_F(QuotasTest, HugeCountOfEgressBytes_DoesNotOverflow) {
  Quotas quotas = make({.limits = {.egress_bytes = 1}});
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(quotas.count_egress_bytes(tenant("a"), UINT64_MAX));
  clock.pass(4h);
  EXPECT_TRUE(quotas.count_egress_bytes(tenant("a"), 0));
}

TEST_F(QuotasTest, EgressConnections_AreCounted) {
  Quotas quotas = make({.limits = {.egress_connections = 1}});
  auto first = quotas.take(tenant("a"), Quota::egress_connections);
  EXPECT_TRUE(first);
  EXPECT_FALSE(quotas.take(tenant("a"), Quota::egress_connections));
  first->give_back();
  EXPECT_TRUE(quotas.take(tenant("a"), Quota::egress_connections));
}

TEST_F(QuotasTest, SteadyStream_GetsItsRateExactlyOverTheLongRun) {
  Quotas quotas = make({.limits = {.requests = Rate{.per_second = 8, .burst = 3}}});
  int count = 0;
  for (int i = 0; i < 100'000; ++i, clock.pass(1ms)) count += admitted(quotas, "a", 1);
  EXPECT_EQ(count, 800 + 2);
}

TEST_F(QuotasTest, OverTheRate_SaysWhenToComeBackAndMeansIt) {
  Quotas quotas = make({.limits = {.requests = Rate{.per_second = 0.25, .burst = 2}}});
  EXPECT_EQ(admitted(quotas, "a", 2), 2);
  const auto refused = quotas.admit_request(user("a"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().quota, Quota::requests);
  EXPECT_EQ(refused.error().retry_after, 4s);
  EXPECT_EQ(Error(refused.error()).code, ErrorCode::limit_reached);
  clock.pass(3500ms);
  EXPECT_EQ(quotas.admit_request(user("a")).error().retry_after, 1s);
  clock.pass(1s);
  EXPECT_TRUE(quotas.admit_request(user("a")));
}

TEST_F(QuotasTest, OneTenantsFlood_TakesNothingFromAnother) {
  Quotas quotas = make({.limits = {.sessions = 1, .runs = 1, .requests = Rate{.per_second = 1, .burst = 2}}});
  const auto run = quotas.begin_run(tenant("a"));
  const auto session = quotas.open_session(tenant("a"));
  EXPECT_EQ(admitted(quotas, "a", 1000), 2);
  EXPECT_EQ(admitted(quotas, "b", 1000), 2);
  EXPECT_TRUE(quotas.begin_run(tenant("b")));
  EXPECT_TRUE(quotas.open_session(tenant("b")));
}

TEST_F(QuotasTest, Tickets_CountUntilTheyGo) {
  Quotas quotas = make({.limits = {.sessions = 3, .runs = 2}});
  auto first = quotas.begin_run(tenant("a"));
  {
    const auto second = quotas.begin_run(tenant("a"));
    ASSERT_TRUE(second);
    const auto third = quotas.begin_run(tenant("a"));
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().quota, Quota::runs);
    EXPECT_GE(third.error().retry_after, 1s);
    EXPECT_TRUE(quotas.open_session(tenant("a"))) << "sessions are counted apart";
  }
  EXPECT_EQ(quotas.use_of("a").runs, 1U);
  QuotaTicket moved = *std::move(first);
  EXPECT_EQ(quotas.use_of("a").runs, 1U);
  moved.give_back();
  moved.give_back();
  EXPECT_FALSE(moved);
  EXPECT_EQ(quotas.use_of("a").runs, 0U);
}

TEST_F(QuotasTest, TicketThatIsReplaced_GivesItsOwnPlaceBack) {
  Quotas quotas = make({});
  QuotaTicket ticket = *quotas.begin_run(tenant("a"));
  ticket = *quotas.open_session(tenant("b"));
  EXPECT_EQ(quotas.use_of("a").runs, 0U);
  EXPECT_EQ(quotas.use_of("b").sessions, 1U);
  QuotaTicket& same = ticket;
  ticket = std::move(same);
  EXPECT_EQ(quotas.use_of("b").sessions, 1U);
  ticket = {};
  EXPECT_EQ(quotas.use_of("b").sessions, 0U);
}

TEST_F(QuotasTest, TicketThatOutlivesItsQuotas_IsHarmless) {
  QuotaTicket ticket;
  {
    Quotas quotas = make({});
    ticket = *quotas.begin_run(tenant("a"));
  }
  ticket.give_back();
}

TEST_F(QuotasTest, LimitOfZero_AllowsNone) {
  Quotas quotas = make({.limits = {.sessions = 0, .runs = 0}});
  EXPECT_FALSE(quotas.begin_run(tenant("a")));
  EXPECT_FALSE(quotas.open_session(tenant("a")));
}

TEST_F(QuotasTest, NamedTenant_HasItsOwnLimitsAlone) {
  Quotas quotas =
      make({.limits = {.runs = 1, .requests = Rate{.per_second = 1, .burst = 1}}, .named = {{"big", {.runs = 3}}}});
  std::vector<QuotaTicket> held;
  held.reserve(3);
  for (int i = 0; i < 3; ++i) held.push_back(*quotas.begin_run(tenant("big")));
  EXPECT_FALSE(quotas.begin_run(tenant("big")));
  EXPECT_EQ(admitted(quotas, "big", 100), 100);
}

TEST_F(QuotasTest, SessionsFoundAgain_CountEvenBeyondTheLimits) {
  Quotas quotas = make({.limits = {.sessions = 1}, .most_tenants = 1});
  std::vector<QuotaTicket> held;
  held.push_back(quotas.adopt(tenant("a"), Quota::sessions));
  held.push_back(quotas.adopt(tenant("a"), Quota::sessions));
  held.push_back(quotas.adopt(tenant("b"), Quota::sessions));
  EXPECT_EQ(quotas.use_of("a").sessions, 2U);
  EXPECT_FALSE(quotas.open_session(tenant("a")));
  held.erase(held.begin());
  EXPECT_FALSE(quotas.open_session(tenant("a")));
  held.erase(held.begin());
  EXPECT_TRUE(quotas.open_session(tenant("a")));
}

TEST_F(QuotasTest, EachKind_IsCountedAndLimitedApart) {
  QuotaLimits limits;
  const std::vector<std::pair<Quota, std::optional<std::uint32_t> QuotaLimits::*>> kinds = {
      {Quota::sessions, &QuotaLimits::sessions},
      {Quota::runs, &QuotaLimits::runs},
      {Quota::contexts, &QuotaLimits::contexts},
      {Quota::leases, &QuotaLimits::leases},
      {Quota::calls, &QuotaLimits::calls},
      {Quota::streams, &QuotaLimits::streams},
      {Quota::connections, &QuotaLimits::connections},
      {Quota::files, &QuotaLimits::files}};
  for (const auto& [quota, most] : kinds) limits.*most = 1;
  Quotas quotas = make({.limits = limits});
  std::vector<QuotaTicket> held;
  for (const auto& [quota, most] : kinds) {
    auto first = quotas.take(tenant("a"), quota);
    ASSERT_TRUE(first) << to_string(quota);
    held.push_back(*std::move(first));
    const auto second = quotas.take(tenant("a"), quota);
    ASSERT_FALSE(second) << to_string(quota);
    EXPECT_EQ(second.error().quota, quota);
    EXPECT_NE(second.error().message.find(to_string(quota)), std::string::npos) << second.error().message;
    EXPECT_TRUE(quotas.take(tenant("b"), quota)) << to_string(quota);
  }
  clock.pass(1h);
  EXPECT_TRUE(quotas.take(tenant("c"), Quota::runs));
  EXPECT_EQ(quotas.use_of("a").files, 1U) << "a tenant that holds something is not forgotten";
  held.clear();
  for (const auto& [quota, most] : kinds) EXPECT_TRUE(quotas.take(tenant("a"), quota)) << to_string(quota);
}

TEST_F(QuotasTest, TenantsAtRest_AreForgotten) {
  Quotas quotas = make({.limits = {.requests = Rate{.per_second = 1, .burst = 10}}});
  const auto session = quotas.open_session(tenant("stays"));
  for (int i = 0; i < 1000; ++i) admitted(quotas, "t" + std::to_string(i), 1);
  EXPECT_EQ(quotas.remembered(), 1001U);
  clock.pass(60s);
  EXPECT_TRUE(quotas.admit_request(user("new")));
  EXPECT_EQ(quotas.remembered(), 2U);
  EXPECT_EQ(quotas.use_of("stays").sessions, 1U);
}

TEST_F(QuotasTest, TenantThatIsOverItsRate_IsNotForgottenBeforeItHasRested) {
  Quotas quotas = make({.limits = {.requests = Rate{.per_second = 0.01, .burst = 1}}});
  EXPECT_EQ(admitted(quotas, "a", 1), 1);
  clock.pass(61s);
  EXPECT_EQ(admitted(quotas, "b", 1), 1);
  EXPECT_EQ(admitted(quotas, "a", 1), 0);
}

TEST_F(QuotasTest, MoreTenantsThanCanBeRemembered_AreRefusedAndMakeNoEntry) {
  Quotas quotas = make({.limits = {.requests = Rate{.per_second = 1, .burst = 1}}, .most_tenants = 100});
  for (int i = 0; i < 100'000; ++i) admitted(quotas, "t" + std::to_string(i), 1);
  EXPECT_EQ(quotas.remembered(), 100U);
  const auto refused = quotas.admit_request(user("one-more"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().quota, Quota::tenants);
  EXPECT_EQ(quotas.begin_run(tenant("one-more")).error().quota, Quota::tenants);
  clock.pass(1s);
  EXPECT_TRUE(quotas.admit_request(user("one-more"))) << "the others have rested";
}

TEST_F(QuotasTest, WithoutLimits_RequestsLeaveNoTrace) {
  Quotas quotas = make({});
  EXPECT_EQ(admitted(quotas, "a", 1000), 1000);
  EXPECT_EQ(quotas.remembered(), 0U);
}

TEST(QuotaOptions, OutOfRange_AreRefused) {
  for (const Rate rate : {Rate{0, 1}, Rate{-1, 1}, Rate{NAN, 1}, Rate{INFINITY, 1}, Rate{1e7, 1}, Rate{1e-9, 1},
                          Rate{1, 0}, Rate{1, 1'000'001}}) {
    EXPECT_FALSE(check_quotas({.limits = {.requests = rate}})) << rate.per_second << " " << rate.burst;
    EXPECT_FALSE(check_quotas({.named = {{"a", {.requests = rate}}}}));
  }
  EXPECT_FALSE(check_quotas({.named = {{"a/b", {}}}}));
  EXPECT_FALSE(check_quotas({.most_tenants = 0}));
  EXPECT_TRUE(check_quotas({.limits = {.requests = Rate{0.001, 1'000'000}}}));
}

TEST_F(QuotasTest, ExtremeRates_DoNotOverflow) {
  Quotas slow = make({.limits = {.requests = Rate{0.001, 1'000'000}}});
  EXPECT_EQ(admitted(slow, "a", 1'000'001), 1'000'000);
  Quotas fast = make({.limits = {.requests = Rate{1e6, 1}}});
  EXPECT_EQ(admitted(fast, "a", 10), 1);
  EXPECT_EQ(fast.admit_request(user("a")).error().retry_after, 1s);
}

}  // namespace
}  // namespace cloche::auth
