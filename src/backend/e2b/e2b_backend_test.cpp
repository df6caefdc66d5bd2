// The backend over a service that only exists in memory.
#include "backend/e2b/e2b_backend.hpp"

#include <set>

#include "backend/e2b/examine.hpp"
#include "backend/e2b/metadata.hpp"
#include "backend/e2b/testing/backend_over_fake_service.hpp"
#include "sandbox/spec_text.hpp"

namespace cloche::e2b {
namespace {

using namespace std::chrono_literals;
using http::testing::Peer;
using http::testing::ReceivedRequest;

class E2bBackendTest : public testing::OverFakeService {
 protected:
  // A sandbox that an earlier process made.
  void add_sandbox(const std::string& remote_id, const std::string& id, const std::string& owner = "test") {
    service_.sandboxes[remote_id].metadata = metadata::for_sandbox(spec(), {id}, {owner}).value();
  }
  std::set<std::string> left() const {
    std::set<std::string> ids;
    for (const auto& [id, sandbox] : service_.sandboxes) ids.insert(id);
    return ids;
  }
};

TEST_F(E2bBackendTest, Sandbox_IsSetUpAndRemoved) {
  run([this]() -> Task<> {
    auto made = backend();
    SandboxSpec wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(enclosure) << enclosure.error().message;
    if (!enclosure) co_return;
    EXPECT_EQ(service_.sandboxes.size(), 1U);
    const auto& remote = service_.sandboxes.begin()->second;
    EXPECT_NE(remote.agent.find("an agent"), std::string::npos);
    const std::vector<std::vector<std::string>> commands{
        {"chmod", "0700", "/root/.cloche/agent"},
        {"/root/.cloche/agent", "prepare", "sandbox", "1000", "1000", "/workspace", "/workspace"},
        {"/root/.cloche/agent", "relay", "foreground"}};
    EXPECT_EQ(remote.commands, commands);
    EXPECT_EQ(remote.metadata.at("cloche.owner"), "test");
    EXPECT_EQ(remote.metadata.at("cloche.sandbox"), (*enclosure)->id().value);
    // The template's.
    EXPECT_EQ((*enclosure)->spec().limits.memory, mib(512));
    EXPECT_EQ((*enclosure)->spec().limits.cpus, 2);
    EXPECT_EQ((*enclosure)->spec().limits.work_dir, mib(1024));
    EXPECT_EQ((*enclosure)->kernel(), Kernel::elsewhere);
    EXPECT_FALSE((*enclosure)->can_be_reset());
    Limits limits = (*enclosure)->spec().limits;
    limits.pids = 99;
    auto fewer = co_await (*enclosure)->set_limits(limits);
    EXPECT_TRUE(fewer);
    limits.memory = mib(64);
    auto refused = co_await (*enclosure)->set_limits(limits);
    EXPECT_TRUE(!refused && refused.error().code == ErrorCode::unsupported);
    auto frozen = co_await (*enclosure)->freeze(soon());
    EXPECT_TRUE(!frozen && frozen.error().code == ErrorCode::unsupported);
    for (int i = 0; i < 2; ++i) {
      auto gone = co_await (*enclosure)->destroy(soon());
      EXPECT_TRUE(gone) << gone.error().message;
    }
    EXPECT_TRUE(service_.sandboxes.empty());
  });
}

TEST_F(E2bBackendTest, WhatAServiceCannotDo_IsRefusedBeforeAnythingIsMade) {
  run([this]() -> Task<> {
    auto made = backend();
    std::vector<SandboxSpec> specs(6, spec());
    specs[0].limits = Limits();
    specs[1].runtime = "crun";
    specs[2].mounts.push_back({"/srv", "/data"});
    specs[3].gpus.count = 1;
    specs[4].root = true;
    specs[5].workspace = WorkspaceKind::disk;
    for (const SandboxSpec& each : specs) {
      SandboxSpec copy = each;
      auto refused = co_await made->create(std::move(copy), soon());
      EXPECT_TRUE(!refused && refused.error().code == ErrorCode::unsupported);
    }
    EXPECT_TRUE(service_.server().requests().empty());
  });
}

TEST_F(E2bBackendTest, LostResponse_LeavesNothing) {
  service_.on_create = [this](ReceivedRequest request, Peer& peer) -> Task<> {
    service_.make(request);
    peer.hang_up();
    co_return;
  };
  run([this]() -> Task<> {
    auto made = backend();
    SandboxSpec wanted = spec();
    auto lost = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(!lost && lost.error().code == ErrorCode::unavailable);
    while (!service_.sandboxes.empty()) co_await pause_for(1ms);
  });
}

TEST_F(E2bBackendTest, SandboxThatAppearsAfterALostResponse_IsRemoved) {
  ReceivedRequest asked;
  service_.on_create = [&asked](ReceivedRequest request, Peer& peer) -> Task<> {
    asked = std::move(request);
    peer.hang_up();
    co_return;
  };
  run([this, &asked]() -> Task<> {
    auto made = backend();
    SandboxSpec wanted = spec();
    auto lost = co_await made->create(std::move(wanted), soon());
    EXPECT_FALSE(lost);
    while (service_.server().count("GET /v2/sandboxes") == 0) co_await pause_for(1ms);
    service_.make(asked);
    while (!service_.sandboxes.empty()) co_await pause_for(1ms);
  });
}

TEST_F(E2bBackendTest, GatewayThatGaveUp_LeavesOnlyTheSecond) {
  int asked = 0;
  service_.on_create = [this, &asked](ReceivedRequest request, Peer& peer) -> Task<> {
    if (++asked == 1) {
      service_.make(request);
      co_await peer.reply(504, "{}");
      co_return;
    }
    co_await service_.create(std::move(request), peer);
  };
  run([this]() -> Task<> {
    auto made = backend();
    SandboxSpec wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(enclosure) << enclosure.error().message;
    while (service_.sandboxes.size() != 1) co_await pause_for(1ms);
    EXPECT_EQ(left(), std::set<std::string>{"i000002"});
    if (enclosure) co_await (*enclosure)->destroy(soon());
  });
}

TEST_F(E2bBackendTest, SetUpThatFails_TakesTheSandboxBackAndSaysWhy) {
  service_.exit_codes["prepare"] = 1;
  run([this]() -> Task<> {
    auto made = backend();
    SandboxSpec wanted = spec();
    auto failed = co_await made->create(std::move(wanted), soon());
    EXPECT_FALSE(failed);
    EXPECT_TRUE(!failed && failed.error().message.find("no such luck") != std::string::npos);
    EXPECT_TRUE(service_.sandboxes.empty());
  });
}

TEST_F(E2bBackendTest, SandboxWithoutTheRequestedToken_IsRefused) {
  service_.on_create = [this](ReceivedRequest request, Peer& peer) -> Task<> {
    const std::string id = service_.make(request);
    co_await peer.reply(201, R"({"sandboxID":")" + id + R"(","clientID":"x","envdVersion":"0.1.0"})");
  };
  run([this]() -> Task<> {
    auto made = backend();
    SandboxSpec wanted = spec();
    auto refused = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(!refused && refused.error().code == ErrorCode::unsupported);
    EXPECT_TRUE(service_.sandboxes.empty());
  });
}

TEST_F(E2bBackendTest, Recover_TakesUpTheLivingRemovesTheBrokenAndLeavesTheRest) {
  add_sandbox("a1", "sb1");
  add_sandbox("a2", "sb2");
  service_.sandboxes["a2"].metadata["cloche.spec"] = "{";
  add_sandbox("a3", "sb3");
  service_.sandboxes["a3"].state = "paused";
  add_sandbox("a4", "sb4", "another");
  add_sandbox("a5", "");
  service_.sandboxes["a6"].metadata = {{"cloche.app", "cloche"}};
  service_.page_size = 2;
  run([this]() -> Task<> {
    auto made = backend();
    auto living = co_await made->recover(soon());
    EXPECT_TRUE(living) << living.error().message;
    if (!living) co_return;
    EXPECT_EQ(living->size(), 1U);
    EXPECT_EQ(left(), (std::set<std::string>{"a1", "a4", "a6"}));
    if (living->empty()) co_return;
    EXPECT_EQ(living->front()->id().value, "sb1");
    EXPECT_EQ(living->front()->spec().limits.memory, mib(512));
    EXPECT_GT(service_.sandboxes["a1"].prolonged, 0) << "it had less than its whole life left";
    // A sandbox that this process holds is not taken over twice.
    auto again = co_await made->recover(soon());
    EXPECT_TRUE(again && again->empty());
    living->clear();
    auto third = co_await made->recover(soon());
    EXPECT_TRUE(third && third->size() == 1);
  });
}

TEST_F(E2bBackendTest, RecoverWithoutTheService_LosesNothing) {
  add_sandbox("a1", "sb1");
  service_.server().on("POST /process.Process/Start", 502, "{}");
  service_.server().on("GET /v2/sandboxes?limit=1", 500, "{}");
  run([this]() -> Task<> {
    auto made = backend();
    auto failed = co_await made->recover(Deadline::after(3s));
    EXPECT_FALSE(failed);
    EXPECT_EQ(left(), std::set<std::string>{"a1"});
  });
}

TEST_F(E2bBackendTest, RemovalThatFails_IsTriedAgainLater) {
  bool resists = true;
  service_.on_remove = [this, &resists](ReceivedRequest request, Peer& peer) -> Task<> {
    if (resists) {
      co_await peer.reply(500, R"({"code":500,"message":"busy"})");
      co_return;
    }
    service_.sandboxes.erase(request.target.substr(std::string("/sandboxes/").size()));
    co_await peer.reply(204, "");
  };
  run([this, &resists]() -> Task<> {
    auto made = backend();
    SandboxSpec wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(enclosure);
    if (!enclosure) co_return;
    const std::string id = (*enclosure)->id().value;
    auto failed = co_await (*enclosure)->destroy(Deadline::after(600ms));
    EXPECT_FALSE(failed);
    enclosure->reset();
    EXPECT_EQ(made->unremoved().size(), 1U);
    EXPECT_TRUE(!made->unremoved().empty() && made->unremoved().front().sandbox == id);
    resists = false;
    const Deadline patience = Deadline::after(20s);
    while (!made->unremoved().empty() && !patience.passed()) {
      co_await made->retry_removals();
      co_await pause_for(100ms);
    }
    EXPECT_TRUE(made->unremoved().empty());
    EXPECT_TRUE(service_.sandboxes.empty());
  });
}

TEST_F(E2bBackendTest, Belongings_AreThoseOfEveryOwnerAndRemovedByOwner) {
  add_sandbox("a1", "sb1");
  add_sandbox("a2", "sb2", "another");
  service_.sandboxes["a3"].metadata = {{"mine", "x"}};
  run([this]() -> Task<> {
    auto made = backend();
    auto found = co_await made->belongings(soon());
    EXPECT_TRUE(found && found->size() == 2);
    auto removed = co_await made->remove_belongings(soon());
    EXPECT_TRUE(removed);
    EXPECT_EQ(left(), (std::set<std::string>{"a2", "a3"}));
  });
}

TEST_F(E2bBackendTest, Examination_TriesTheKeyAndASandbox) {
  run([this]() -> Task<> {
    auto made = backend();
    auto findings = co_await made->examine(soon());
    EXPECT_EQ(findings.size(), 2U);
    for (const Finding& each : findings) EXPECT_EQ(each.level, Finding::Level::good) << each.detail;
    EXPECT_TRUE(service_.sandboxes.empty());
    E2bSettings wrong = service_.settings();
    wrong.template_name = "missing";
    auto other = backend(wrong);
    findings = co_await other->examine(soon());
    EXPECT_EQ(findings.back().level, Finding::Level::missing);
    wrong.api_key.clear();
    auto none = backend(wrong);
    findings = co_await none->examine(soon());
    EXPECT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings.front().level, Finding::Level::missing);
  });
}

TEST(E2bFindings, ConnectionWithoutTls_IsAWarningUnlessItStaysOnThisHost) {
  const E2bSettings settings;
  EXPECT_EQ(service_findings(settings, "tls://api.e2b.app:443", {}).size(), 1U);
  EXPECT_EQ(service_findings(settings, "tcp://127.0.0.1:3000", {}).size(), 1U);
  EXPECT_EQ(service_findings(settings, "tcp://10.0.0.1:3000", {}).size(), 2U);
}

TEST_F(E2bBackendTest, Proof_LeavesNothingAndForgivesAMissingTemplate) {
  run([this]() -> Task<> {
    auto made = backend();
    SandboxSpec wanted = spec();
    auto proved = co_await made->prove(std::move(wanted), soon());
    EXPECT_TRUE(proved) << proved.error().message;
    EXPECT_TRUE(service_.sandboxes.empty());
    SandboxSpec other = spec();
    other.image = "missing";
    auto missing = co_await made->prove(std::move(other), soon());
    EXPECT_TRUE(missing);
  });
}

TEST(E2bSettingsTest, InvalidOnes_AreRefused) {
  E2bSettings settings;
  settings.domain = "e2b.app";
  settings.instance = {"test"};
  EXPECT_TRUE(validate(settings));
  EXPECT_EQ(http::describe(sandbox_address(settings, "i1", "")->endpoint), "tls://49983-i1.e2b.app:443");
  EXPECT_EQ(http::describe(sandbox_address(settings, "i1", "other.dev:8443")->endpoint),
            "tls://49983-i1.other.dev:8443");
  EXPECT_EQ(http::describe(control_address(settings)->endpoint), "tls://api.e2b.app:443");
  E2bSettings key = settings;
  key.api_key = "a\r\nb";
  EXPECT_FALSE(validate(key));
  E2bSettings domain = settings;
  domain.domain = "e2b.app/x";
  EXPECT_FALSE(validate(domain));
  E2bSettings url = settings;
  url.api_url = "ftp://x";
  EXPECT_FALSE(validate(url));
  E2bSettings instance = settings;
  instance.instance = {"a b"};
  EXPECT_FALSE(validate(instance));
}

}  // namespace
}  // namespace cloche::e2b
