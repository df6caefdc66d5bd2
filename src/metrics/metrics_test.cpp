#include "metrics/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::metrics {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

TEST(Metrics, RequestsAndRuns_AreCountedByFewLabels) {
  Metrics metrics;
  metrics.request_ended("POST", "/execute", 200, 12ms);
  metrics.request_ended("POST", "/execute", 200, 7ms);
  metrics.request_ended("BREW", "", 404, 1ms);
  metrics.run_ended("python", Category::timeout, Cause::wall, 3s);
  metrics.loop_was_late(3ms);
  metrics.loop_was_late(30ms);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr(R"(cloche_http_requests_total{method="POST",route="/execute",status="200"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(cloche_http_requests_total{method="other",route="none",status="404"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(cloche_loop_lag_seconds_bucket{le="0.005"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(cloche_runs_total{category="timeout",cause="wall",language="python"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(cloche_run_seconds_count{language="python"} 1)"));
  EXPECT_THAT(text, Not(HasSubstr("BREW")));
}

TEST(Metrics, WatchedCounts_AreThoseOfTheMomentOfTheLook) {
  Metrics metrics;
  PoolStats stats;
  stats.idle = 2;
  stats.claim_latency.add(70us);
  stats.claim_latency.add(1h);
  Metrics::Sources sources;
  sources.pools = [&] { return std::map<std::string, PoolStats>{{"python", stats}}; };
  sources.sessions = [] {
    session::SessionCounts counts;
    counts.live = 5;
    counts.paused = 1;
    return counts;
  };
  metrics.watch(std::move(sources));
  EXPECT_THAT(metrics.text(), HasSubstr(R"(cloche_pool_sandboxes{profile="python",state="idle"} 2)"));
  stats.idle = 1;
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr(R"(cloche_pool_sandboxes{profile="python",state="idle"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(cloche_sessions{state="live"} 4)"));
  EXPECT_THAT(text, HasSubstr(R"(cloche_sessions{state="paused"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(cloche_pool_claim_seconds_bucket{profile="python",le="0.0001"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(cloche_pool_claim_seconds_bucket{profile="python",le="+Inf"} 2)"));
}

TEST(Metrics, ConnectionsToTheOutside_AreCountedByOutcome) {
  Metrics metrics;
  Metrics::Sources sources;
  sources.egress = [] {
    egress::Totals totals;
    totals.open = 2;
    totals.connections = 5;
    totals.denied = 3;
    totals.over_quota = 1;
    totals.bytes_down = 700;
    return totals;
  };
  metrics.watch(std::move(sources));
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("cloche_egress_connections 2"));
  EXPECT_THAT(text, HasSubstr("cloche_egress_connections_total 5"));
  EXPECT_THAT(text, HasSubstr(R"(cloche_egress_refused_total{outcome="denied"} 3)"));
  EXPECT_THAT(text, HasSubstr(R"(cloche_egress_refused_total{outcome="over_quota"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(cloche_egress_bytes_total{direction="down"} 700)"));
}

}  // namespace
}  // namespace cloche::metrics
