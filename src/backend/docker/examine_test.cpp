#include "backend/docker/examine.hpp"

#include <gtest/gtest.h>

namespace cloche::docker {
namespace {

EngineFacts whole() {
  EngineFacts facts;
  facts.server_version = "20.10.24";
  facts.operating_system = "linux";
  facts.runtimes = {{"runc", "runc", ""}, {"sandboxed", "/opt/gvisor/runsc", ""}};
  facts.default_runtime = "runc";
  facts.limits_memory = facts.limits_swap = facts.limits_cpu = facts.limits_pids = facts.has_seccomp = true;
  return facts;
}

Finding::Level worst(const std::vector<Finding>& findings) {
  Finding::Level level = Finding::Level::good;
  for (const auto& finding : findings) {
    level = std::max(level, finding.level);
    EXPECT_EQ(finding.level == Finding::Level::good, finding.advice.empty()) << finding.name;
  }
  return level;
}

TEST(Examine, WholeEngine_IsGood) {
  const auto findings = engine_findings(whole(), {1, 41}, http::UnixEndpoint{"/run/docker.sock"});
  EXPECT_EQ(worst(findings), Finding::Level::good);
  EXPECT_EQ(findings.at(0).detail, "20.10.24 at unix:///run/docker.sock, API 1.41, cgroup v1");
  EXPECT_EQ(findings.at(1).detail, "runc, sandboxed (gVisor); default runc");
}

TEST(Examine, NoGvisorOrNoTls_IsAWarningWithAdvice) {
  EngineFacts facts = whole();
  EXPECT_EQ(worst(engine_findings(facts, {1, 41}, http::TcpEndpoint{"h", "1"})), Finding::Level::warning);
  facts.runtimes = {{"runc", "runc", ""}, {"runsc", "/usr/bin/other", ""}};
  EXPECT_EQ(worst(engine_findings(facts, {1, 41}, http::UnixEndpoint{"/x"})), Finding::Level::warning);
}

TEST(Examine, LostLimitOrNoEngine_IsMissingWithAdvice) {
  EngineFacts facts = whole();
  facts.limits_swap = false;
  EXPECT_EQ(worst(engine_findings(facts, {1, 41}, http::UnixEndpoint{"/x"})), Finding::Level::missing);
  EXPECT_EQ(worst(unreachable_findings(Error{ErrorCode::unavailable, "refused"})), Finding::Level::missing);
}

TEST(Examine, RuntimeThatStartsNothing_IsMissingWhenItIsTheOneChosen) {
  EXPECT_EQ(runtime_finding("runc", Status{}, true).level, Finding::Level::good);
  const Status failed = fail(ErrorCode::unavailable, "unknown version specified");
  EXPECT_EQ(runtime_finding("crun", failed, true).level, Finding::Level::missing);
  EXPECT_EQ(runtime_finding("crun", failed, false).level, Finding::Level::warning);
  EXPECT_NE(runtime_finding("crun", failed, true).detail.find("unknown version specified"), std::string::npos);
}

}  // namespace
}  // namespace cloche::docker
