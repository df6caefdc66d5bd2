// The backend over a cluster that only exists in memory.
#include "backend/kubernetes/kubernetes_backend.hpp"

#include "backend/kubernetes/examine.hpp"
#include "backend/kubernetes/pod/marks.hpp"
#include "backend/kubernetes/testing/over_fake_cluster.hpp"
#include "sandbox/spec_text.hpp"

namespace cloche::kubernetes {
namespace {

using namespace std::chrono_literals;
using http::testing::Peer;
using http::testing::ReceivedRequest;
using ::testing::HasSubstr;
using testing::status_body;

class KubernetesBackendTest : public testing::OverFakeCluster {
 protected:
  // A pod that an earlier process made.
  std::string add_pod(const std::string& id, const InstanceId& owner, json::object status) {
    PodPlan plan;
    plan.id = {id};
    plan.name = marks::pod_name(owner, id);
    plan.uid = 1073741825;  // beyond what a spec can ask for
    KubernetesSettings settings = cluster_.settings();
    settings.instance = owner;
    json::object pod = pod_body(spec(), plan, settings);
    pod["status"] = std::move(status);
    cluster_.put(std::move(pod));
    return plan.name;
  }
  Task<Error> failure_of_create(Backend& made, Deadline deadline) {
    SandboxSpec wanted = spec();
    auto failed = co_await made.create(std::move(wanted), deadline);
    EXPECT_FALSE(failed);
    co_return failed ? Error{} : failed.error();
  }
  static json::object waiting_status(const std::string& reason) {
    return json::parse(R"({"phase":"Pending","containerStatuses":[{"name":"sandbox","state":{"waiting":{"reason":")" +
                       reason + R"("}}}]})")
        ->as_object();
  }
  const InstanceId mine_ = cluster_.settings().instance;
};

TEST_F(KubernetesBackendTest, Sandbox_IsAPodAndIsRemoved) {
  run([this]() -> Task<> {
    auto made = backend();
    SandboxSpec wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(enclosure) << enclosure.error().message;
    if (!enclosure) co_return;
    EXPECT_EQ(cluster_.pods.size(), 1U);
    EXPECT_EQ(cluster_.pods.begin()->first, marks::pod_name(mine_, (*enclosure)->id().value));
    EXPECT_TRUE((*enclosure)->can_be_reset());
    auto frozen = co_await (*enclosure)->freeze(soon());
    EXPECT_TRUE(!frozen && frozen.error().code == ErrorCode::unsupported);
    for (int i = 0; i < 2; ++i) {
      auto gone = co_await (*enclosure)->destroy(soon());
      EXPECT_TRUE(gone) << gone.error().message;
    }
    EXPECT_TRUE(cluster_.pods.empty());
  });
}

TEST_F(KubernetesBackendTest, WhatAPodCannotDo_IsRejectedBeforeAnythingIsMade) {
  run([this]() -> Task<> {
    auto made = backend();
    std::vector<SandboxSpec> specs(6, spec());
    specs[0].image.clear();
    specs[1].workspace = WorkspaceKind::disk;
    specs[2].mounts.push_back({"/srv", "/data"});
    specs[3].gpus.count = 1;
    specs[4].root = true;
    specs[5].hostname = "Not.A.Label";
    for (const SandboxSpec& each : specs) {
      SandboxSpec copy = each;
      auto refused = co_await made->create(std::move(copy), soon());
      EXPECT_FALSE(refused);
    }
    EXPECT_TRUE(cluster_.server().requests().empty());
  });
}

TEST_F(KubernetesBackendTest, LostResponse_IsAskedForAgain) {
  bool is_first = true;
  cluster_.on_create = [this, &is_first](ReceivedRequest request, Peer& peer) -> Task<> {
    if (std::exchange(is_first, false)) {
      cluster_.make(request);
      peer.hang_up();
      co_return;
    }
    co_await peer.reply(409, status_body(409, "AlreadyExists", "it exists"));
  };
  run([this]() -> Task<> {
    auto made = backend();
    SandboxSpec wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(enclosure) << enclosure.error().message;
    EXPECT_EQ(cluster_.pods.size(), 1U);
  });
}

TEST_F(KubernetesBackendTest, PodThatAppearsAfterAllResponsesWereLost_IsRemoved) {
  ReceivedRequest asked;
  cluster_.on_create = [&asked](ReceivedRequest request, Peer& peer) -> Task<> {
    asked = std::move(request);
    peer.hang_up();
    co_return;
  };
  run([this, &asked]() -> Task<> {
    auto made = backend();
    const Error lost = co_await failure_of_create(*made, Deadline::after(300ms));
    EXPECT_EQ(lost.code, ErrorCode::unavailable) << lost.message;
    cluster_.make(asked);
    while (!cluster_.pods.empty()) co_await pause_for(1ms);
  });
}

TEST_F(KubernetesBackendTest, Refusals_AreTypedAndLeaveNothing) {
  const std::tuple<int, std::string, ErrorCode> cases[] = {
      {403, "exceeded quota: q", ErrorCode::limit_reached},
      {403, "User \"x\" cannot create resource \"pods\"", ErrorCode::permission_denied},
      {422, "spec.hostname: Invalid value", ErrorCode::invalid_argument}};
  run([&]() -> Task<> {
    auto made = backend();
    for (const auto& [status, message, code] : cases) {
      cluster_.on_create = [status = status, message = message](ReceivedRequest, Peer& peer) -> Task<> {
        co_await peer.reply(status, status_body(status, "x", message));
      };
      const Error refused = co_await failure_of_create(*made, soon());
      EXPECT_EQ(refused.code, code) << refused.message;
    }
    EXPECT_TRUE(cluster_.pods.empty());
  });
}

TEST_F(KubernetesBackendTest, PodThatCannotStart_IsRemovedWithItsReason) {
  run([this]() -> Task<> {
    auto made = backend();
    cluster_.new_status = waiting_status("ErrImageNeverPull");
    const Error missing = co_await failure_of_create(*made, soon());
    EXPECT_EQ(missing.code, ErrorCode::not_found);
    EXPECT_THAT(missing.message, HasSubstr("ErrImageNeverPull"));
    EXPECT_TRUE(cluster_.pods.empty());
    cluster_.new_status = json::parse(
                              R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
                                  "reason":"Unschedulable","message":"0/1 nodes"}]})")
                              ->as_object();
    cluster_.server().on("GET /api/v1/namespaces/sandboxes/events", 200,
                         R"({"items":[{"message":"no runtime for x"}],"metadata":{}})");
    const Error full = co_await failure_of_create(*made, Deadline::after(300ms));
    EXPECT_EQ(full.code, ErrorCode::limit_reached);
    EXPECT_THAT(full.message, HasSubstr("0/1 nodes"));
    EXPECT_THAT(full.message, HasSubstr("no runtime for x"));
    while (!cluster_.pods.empty()) co_await pause_for(1ms);
  });
}

TEST_F(KubernetesBackendTest, LaterProcess_TakesUpWhatRunsAndRemovesTheRest) {
  const std::string living = add_pod("aaaa", mine_, testing::FakeCluster::running_status());
  const std::string ended = add_pod("bbbb", mine_, json::object{{"phase", "Failed"}});
  const std::string others = add_pod("cccc", {"fedcba98", "other", ""}, json::object{{"phase", "Failed"}});
  run([&]() -> Task<> {
    auto made = backend();
    auto found = co_await made->recover(soon());
    EXPECT_TRUE(found) << found.error().message;
    if (!found) co_return;
    EXPECT_EQ(found->size(), 1U);
    EXPECT_EQ(found->front()->id().value, "aaaa");
    EXPECT_EQ(found->front()->spec().image, "debian:12");
    EXPECT_EQ(found->front()->spec().uid, 1073741825U);
    EXPECT_TRUE(cluster_.pods.contains(living));
    EXPECT_FALSE(cluster_.pods.contains(ended));
    EXPECT_TRUE(cluster_.pods.contains(others)) << "another owner's";
    auto all = co_await made->belongings(soon());
    EXPECT_TRUE(all && all->size() == 2);
    found->clear();
    auto removed = co_await made->remove_belongings(soon());
    EXPECT_TRUE(removed);
    EXPECT_EQ(cluster_.pods.size(), 1U);
  });
}

TEST_F(KubernetesBackendTest, ClusterThatIsGone_CostsNoSandbox) {
  add_pod("aaaa", mine_, testing::FakeCluster::running_status());
  cluster_.server().on("GET /api/v1/namespaces/sandboxes/pods?", 403, status_body(403, "Forbidden", "no"));
  run([this]() -> Task<> {
    auto made = backend();
    auto found = co_await made->recover(soon());
    EXPECT_FALSE(found);
    EXPECT_EQ(cluster_.pods.size(), 1U);
  });
}

TEST_F(KubernetesBackendTest, PodOfTheSameNameThatIsAnothers_IsNotTouched) {
  run([this]() -> Task<> {
    auto made = backend();
    SandboxSpec wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(enclosure);
    if (!enclosure) co_return;
    const std::string name = cluster_.pods.begin()->first;
    json::object other = cluster_.pods.begin()->second;
    cluster_.erase(name);
    other["metadata"].as_object()["uid"] = "another";
    cluster_.put(std::move(other));
    auto gone = co_await (*enclosure)->destroy(soon());
    EXPECT_TRUE(gone);
    EXPECT_TRUE(cluster_.pods.contains(name));
  });
}

TEST_F(KubernetesBackendTest, DialToAPodThatHasEnded_IsSandboxLost) {
  run([this]() -> Task<> {
    auto made = backend();
    SandboxSpec wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(enclosure);
    if (!enclosure) co_return;
    cluster_.erase(cluster_.pods.begin()->first);
    std::string room(10, '\0');
    auto lost = co_await (*enclosure)->channel().read_some(room);
    EXPECT_TRUE(!lost && lost.error().code == ErrorCode::sandbox_lost);
    EXPECT_THAT(lost.error().message, HasSubstr("deleted"));
  });
}

TEST_F(KubernetesBackendTest, Examination_NamesWhatIsMissing) {
  cluster_.server().on("POST /apis/authorization.k8s.io", [](ReceivedRequest request, Peer& peer) -> Task<> {
    const bool is_resize = request.body.find("resize") != std::string::npos;
    std::string body = is_resize ? R"({"status":{"allowed":false}})" : R"({"status":{"allowed":true}})";
    co_await peer.reply(201, std::move(body));
  });
  cluster_.server().on("GET /apis/networking.k8s.io", 200, R"({"items":[],"metadata":{}})");
  run([this]() -> Task<> {
    auto made = backend();
    const auto findings = co_await made->examine(Deadline::after(1s));
    std::map<std::string, Finding> by_name;
    for (const Finding& each : findings) by_name[each.name] = each;
    EXPECT_THAT(by_name["kubernetes cluster"].detail, HasSubstr("v1.36.3"));
    EXPECT_EQ(by_name["kubernetes right to create pods"].level, Finding::Level::good);
    EXPECT_EQ(by_name["kubernetes right to patch pods/resize"].level, Finding::Level::missing);
    EXPECT_THAT(by_name["kubernetes right to patch pods/resize"].advice, HasSubstr("pods/resize"));
    EXPECT_EQ(by_name["kubernetes network"].level, Finding::Level::warning);
    EXPECT_EQ(by_name["kubernetes runtimes"].level, Finding::Level::good);
    EXPECT_TRUE(by_name.contains("kubernetes trial"));
  });
}

TEST_F(KubernetesBackendTest, WithoutSettings_NothingIsAsked) {
  run([this]() -> Task<> {
    KubernetesSettings settings = cluster_.settings();
    settings.agent_image.clear();
    auto made = backend(settings);
    const auto findings = co_await made->examine(soon());
    EXPECT_EQ(findings.size(), 1U);
    EXPECT_THAT(findings.front().detail, HasSubstr("agent_image"));
    auto all = co_await made->belongings(soon());
    EXPECT_TRUE(all && all->empty());
    const Error refused = co_await failure_of_create(*made, soon());
    EXPECT_EQ(refused.code, ErrorCode::invalid_argument);
    EXPECT_TRUE(cluster_.server().requests().empty());
  });
}

TEST(PolicyFinding, PolicyThatDeniesAll_IsFound) {
  Listed listed;
  listed.items.push_back(*json::parse(
      R"({"spec":{"podSelector":{"matchLabels":{"app.kubernetes.io/managed-by":"cloche"}},"policyTypes":["Ingress","Egress"]}})"));
  EXPECT_EQ(policy_finding("ns", listed).level, Finding::Level::good);
  listed.items[0] = *json::parse(R"({"spec":{"podSelector":{"matchLabels":{"a":"b"}},"policyTypes":["Egress"]}})");
  EXPECT_EQ(policy_finding("ns", listed).level, Finding::Level::warning);
  listed.items[0] = *json::parse(R"({"spec":{"podSelector":{},"policyTypes":["Egress"],"egress":[{}]}})");
  EXPECT_EQ(policy_finding("ns", listed).level, Finding::Level::warning);
}

TEST(KubernetesSettings, NamesThatCouldNotBeUsed_AreRejected) {
  KubernetesSettings settings;
  settings.instance = {"id"};
  settings.namespace_name = "ns";
  EXPECT_TRUE(validate(settings));
  settings.namespace_name = "../x";
  EXPECT_FALSE(validate(settings));
  settings.namespace_name = "ns";
  settings.instance.value = "a/b";
  EXPECT_FALSE(validate(settings));
}

}  // namespace
}  // namespace cloche::kubernetes
