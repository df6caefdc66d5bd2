#include "dialect/e2b/control/answers.hpp"

#include <gtest/gtest.h>

#include "json/write_json.hpp"

namespace cloche::dialect::e2b {
namespace {

using namespace std::chrono_literals;

struct Fixture {
  Sandbox sandbox{.tenant = *auth::AuthorizedTenant::of_record("acme"),
                  .id = "iabc",
                  .attributes = {},
                  .access_token = "secret",
                  .traffic_token = {},
                  .log = {},
                  .cpu = {}};
  session::SessionInfo info;
  SandboxSpec spec;

  Fixture() {
    sandbox.attributes.template_id = "base";
    info.created = Moment(std::chrono::sys_days{std::chrono::year{2031} / 5 / 17});
    info.expires = info.created + 300s;
    info.metadata = {{"a", "b"}};
    spec.limits.memory = mib(512);
    spec.limits.cpus = 1.5;
    spec.limits.work_dir = mib(256);
  }
  ShownSandbox shown(std::string_view domain = "") const { return {sandbox, info, spec, domain}; }
};

TEST(Answers, Connection_HasWhatClientsRequire) {
  Fixture fixture;
  EXPECT_EQ(write_json(to_connection_json(fixture.shown())),
            R"({"templateID":"base","alias":"base","sandboxID":"iabc","clientID":"cloche","envdVersion":"0.6.13",)"
            R"("envdAccessToken":"secret","trafficAccessToken":null,"domain":null})");
  fixture.sandbox.access_token.clear();
  fixture.sandbox.traffic_token = "traffic";
  const auto body = to_connection_json(fixture.shown("sbx.test:8443"));
  EXPECT_FALSE(body.contains("envdAccessToken"));
  EXPECT_EQ(body.at("trafficAccessToken"), "traffic");
  EXPECT_EQ(body.at("domain"), "sbx.test:8443");
}

TEST(Answers, List_HasNoToken) {
  const Fixture fixture;
  EXPECT_EQ(write_json(to_listed_json(fixture.shown())),
            R"({"templateID":"base","alias":"base","sandboxID":"iabc","clientID":"cloche","envdVersion":"0.6.13",)"
            R"("startedAt":"2031-05-17T00:00:00.000Z","endAt":"2031-05-17T00:05:00.000Z","cpuCount":2,"memoryMB":512,)"
            R"("diskSizeMB":256,"metadata":{"a":"b"},"state":"running","volumeMounts":[]})");
}

TEST(Answers, Detail_ShowsLifecycleAndNetwork) {
  Fixture fixture;
  fixture.info.state = session::SessionState::paused;
  fixture.info.expires.reset();
  fixture.info.on_expiry = session::OnExpiry::pause;
  fixture.sandbox.attributes.auto_resume = true;
  fixture.sandbox.attributes.internet = false;
  fixture.sandbox.attributes.network = R"({"allowOut":["a"]})";
  const auto body = to_detail_json(fixture.shown());
  EXPECT_EQ(body.at("state"), "paused");
  EXPECT_TRUE(body.at("endAt").is_string());
  EXPECT_EQ(body.at("allowInternetAccess"), false);
  EXPECT_EQ(write_json(body.at("network")), R"({"allowOut":["a"]})");
  EXPECT_EQ(write_json(body.at("lifecycle")), R"({"autoResume":true,"onTimeout":"pause"})");
  EXPECT_EQ(body.at("envdAccessToken"), "secret");
  EXPECT_TRUE(to_detail_json(Fixture().shown()).at("allowInternetAccess").is_null());
}

TEST(CpuShare, IsOfTheTimeBetweenTwoSamples) {
  const Deadline::Clock::time_point now{1h};
  const CpuSample before{now, 5s};
  EXPECT_DOUBLE_EQ(cpu_share(before, {now + 10s, 10s}, 1h), 50);
  EXPECT_DOUBLE_EQ(cpu_share(std::nullopt, {now, 5s}, 10s), 50);
  EXPECT_DOUBLE_EQ(cpu_share(before, {now, 6s}, 1h), 0);
  EXPECT_DOUBLE_EQ(cpu_share(before, {now + 1s, 4s}, 1h), 0);
}

TEST(Answers, Metric_HasNumbersInBytes) {
  const Fixture fixture;
  const ResourceUse use{.cpu_time = 1s, .memory = mib(10), .cache = mib(1), .disk = mib(3)};
  const auto body = to_metric_json(fixture.spec, use, 12.5, fixture.info.created);
  EXPECT_EQ(body.at("memUsed").to_number<std::uint64_t>(), mib(10).count);
  EXPECT_EQ(body.at("memTotal").to_number<std::uint64_t>(), mib(512).count);
  EXPECT_EQ(body.at("diskUsed").to_number<std::uint64_t>(), mib(3).count);
  EXPECT_EQ(body.at("cpuUsedPct").as_double(), 12.5);
  EXPECT_TRUE(body.at("timestampUnix").is_int64());
}

}  // namespace
}  // namespace cloche::dialect::e2b
