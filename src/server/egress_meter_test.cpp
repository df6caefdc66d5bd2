// The quotas of a tenant, as the broker asks for them.
#include "server/egress_meter.hpp"

#include <gtest/gtest.h>

#include "auth/testing/scratch.hpp"

namespace cloche::server {
namespace {

using namespace std::chrono_literals;

struct EgressMeterTest : ::testing::Test {
  auth::Quotas make(auth::QuotaLimits limits) {
    auth::QuotaOptions options;
    options.limits = limits;
    return {std::move(options), clock.clocks().steady};
  }
  auth::testing::HandClock clock;
};

TEST_F(EgressMeterTest, Connection_CountsUntilItsTicketIsGone) {
  auth::Quotas quotas = make({.egress_connections = 1});
  const auto meters = egress_meters(quotas);
  const auto meter = meters("a");
  auto ticket = meter->admit_connection();
  ASSERT_TRUE(ticket);
  const auto refused = meters("a")->admit_connection();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limit_reached);
  EXPECT_TRUE(meters("b")->admit_connection());
  ticket->reset();
  EXPECT_TRUE(meter->admit_connection());
}

TEST_F(EgressMeterTest, BytesBothWays_CountAndCloseTheDoor) {
  auth::Quotas quotas = make({.egress_bytes = 100});
  const auto meter = egress_meters(quotas)("a");
  EXPECT_TRUE(meter->count_bytes(60, 40));
  EXPECT_FALSE(meter->count_bytes(1, 0));
  EXPECT_FALSE(meter->admit_connection());
  clock.pass(2min);
  EXPECT_TRUE(meter->admit_connection());
}

TEST_F(EgressMeterTest, Requests_HaveARate) {
  auth::Quotas quotas = make({.egress_requests = auth::Rate{.per_second = 1, .burst = 1}});
  const auto meter = egress_meters(quotas)("a");
  EXPECT_TRUE(meter->admit_request());
  EXPECT_FALSE(meter->admit_request());
  clock.pass(1s);
  EXPECT_TRUE(meter->admit_request());
}

TEST_F(EgressMeterTest, NameThatIsNoTenant_GetsNothing) {
  auth::Quotas quotas = make({});
  const auto meter = egress_meters(quotas)("no tenant");
  EXPECT_FALSE(meter->admit_connection());
  EXPECT_FALSE(meter->admit_request());
  EXPECT_FALSE(meter->count_bytes(0, 0));
}

}  // namespace
}  // namespace cloche::server
