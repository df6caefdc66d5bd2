// What a server finds on an engine when it starts: containers that live, are dead, resist or appear later.
#include <set>

#include "backend/docker/labels.hpp"
#include "backend/docker/testing/backend_over_fake_engine.hpp"

namespace cloche::docker {
namespace {

using namespace std::chrono_literals;
using http::testing::Peer;
using http::testing::ReceivedRequest;

class DockerRecovery : public testing::BackendOverFakeEngine {};

TEST_F(DockerRecovery, ContainerThatAKilledProcessAskedFor_IsRemovedWhenItTurnsUpLater) {
  const auto living = labels::for_sandbox(spec(), {"sb1"}, {"test"}).value();
  const auto late = labels::for_sandbox(spec(), {"sb2"}, {"test"}).value();
  const auto theirs = labels::for_sandbox(spec(), {"sb3"}, {"another"}).value();
  engine_.containers = {{"01", {"a", "running", labelled(living)}}, {"02", {"b", "created", labelled(theirs)}}};
  run([this, late]() -> Task<> {
    auto made = backend();
    auto recovered = co_await made->recover(soon());
    EXPECT_TRUE(recovered) << recovered.error().message;
    engine_.containers["03"] = {"c", "created", labelled(late)};
    auto wanted = spec();
    auto mine = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(mine);
    while (engine_.containers.contains("03")) co_await pause_for(1ms);
    EXPECT_EQ(engine_.containers.size(), 3u) << "mine, the one that lives, and another instance's";
    if (mine) co_await (*mine)->destroy(soon());
  });
}

TEST_F(DockerRecovery, Recover_TakesUpTheLivingRemovesTheDeadAndLeavesTheRest) {
  const auto ours = labels::for_sandbox(spec(), {"sb1"}, {"test"}).value();
  const auto theirs = labels::for_sandbox(spec(), {"sb2"}, {"another"}).value();
  const auto dead = labels::for_sandbox(spec(), {"sb4"}, {"test"}).value();
  auto broken = ours;
  broken["cloche.spec"] = "{";
  broken["cloche.sandbox"] = "sb3";
  engine_.containers = {
      {"01", {"a", "running", labelled(ours)}},
      {"02", {"b", "exited", labelled(dead)}},
      {"03", {"c", "running", labelled(broken)}},
      {"04", {"d", "created", labelled({{"cloche.deriving.owner", "test"}, {"cloche.deriving", "x"}})}},
      {"05", {"e", "running", labelled(theirs)}},
      {"06", {"f", "exited", labelled({{"cloche.app", "cloche"}})}},
      {"07", {"g", "created", labelled({{"cloche.deriving.owner", "another"}})}}};
  run([this]() -> Task<> {
    auto made = backend();
    auto living = co_await made->recover(soon());
    EXPECT_TRUE(living) << living.error().message;
    if (!living) co_return;
    EXPECT_EQ(living->size(), 1u);
    std::set<std::string> left;
    for (const auto& [id, container] : engine_.containers) left.insert(id);
    EXPECT_EQ(left, (std::set<std::string>{"01", "05", "06", "07"}));
    if (living->empty()) co_return;
    Enclosure& enclosure = *living->front();
    EXPECT_EQ(enclosure.id().value, "sb1");
    // The current limits, not those at its creation.
    EXPECT_EQ(enclosure.spec().limits.memory, mib(64));
    EXPECT_EQ(enclosure.spec().limits.cpus, 0.25);
    EXPECT_EQ(enclosure.spec().limits.pids, 99u);
    auto written = co_await enclosure.channel().write_all("x");
    EXPECT_TRUE(written);
    const std::string heard = co_await read_all(enclosure.channel(), 1);
    EXPECT_EQ(heard, "x");
    // A sandbox that this process holds is not taken over twice.
    auto again = co_await made->recover(soon());
    EXPECT_TRUE(again && again->empty());
    living->clear();
    auto third = co_await made->recover(soon());
    EXPECT_TRUE(third && third->size() == 1);
  });
}

TEST_F(DockerRecovery, PausedContainer_IsUnpausedAndTakenUp) {
  engine_.containers = {{"01", {"a", "paused", labelled(labels::for_sandbox(spec(), {"sb1"}, {"test"}).value())}}};
  run([this]() -> Task<> {
    auto made = backend();
    auto living = co_await made->recover(soon());
    EXPECT_TRUE(living && living->size() == 1) << (living ? "none" : living.error().message);
    if (!living || living->empty()) co_return;
    EXPECT_EQ(engine_.containers.at("01").state, "running");
    Enclosure& enclosure = *living->front();
    // Again and again is fine.
    for (int i = 0; i < 2; ++i) {
      auto frozen = co_await enclosure.freeze(soon());
      EXPECT_TRUE(frozen) << frozen.error().message;
      EXPECT_EQ(engine_.containers.at("01").state, "paused");
    }
    for (int i = 0; i < 2; ++i) {
      auto thawed = co_await enclosure.thaw(soon());
      EXPECT_TRUE(thawed) << thawed.error().message;
      EXPECT_EQ(engine_.containers.at("01").state, "running");
    }
    engine_.containers.at("01").state = "exited";
    auto dead = co_await enclosure.freeze(soon());
    EXPECT_TRUE(!dead && dead.error().code == ErrorCode::sandbox_lost);
    engine_.containers.clear();
    auto gone = co_await enclosure.thaw(soon());
    EXPECT_TRUE(!gone && gone.error().code == ErrorCode::sandbox_lost);
  });
}

TEST_F(DockerRecovery, ResourceUse_IsReadFromTheStatisticsOfEitherVersionOfCgroups) {
  engine_.containers = {{"01", {"a", "running", labelled(labels::for_sandbox(spec(), {"sb1"}, {"test"}).value())}}};
  run([this]() -> Task<> {
    auto made = backend();
    auto living = co_await made->recover(soon());
    EXPECT_TRUE(living && living->size() == 1);
    if (!living || living->empty()) co_return;
    for (const char* stats : {R"({"total_inactive_file":100,"total_active_file":50,"inactive_file":1,"active_file":1})",
                              R"({"inactive_file":100,"active_file":50})"}) {
      engine_.server().on("GET /v1.41/containers/01/stats", 200,
                          R"({"read":"2031-05-17T09:30:00Z","cpu_stats":{"cpu_usage":{"total_usage":5000000}},)"
                          R"("memory_stats":{"usage":1150,"stats":)" +
                              std::string(stats) + "}}");
      auto use = co_await living->front()->resource_use(soon());
      EXPECT_TRUE(use) << use.error().message;
      if (!use) co_return;
      EXPECT_EQ(use->cpu_time, 5ms);
      EXPECT_EQ(use->memory.count, 1000u);
      EXPECT_EQ(use->cache.count, 150u);
    }
    engine_.server().on("GET /v1.41/containers/01/stats", 200, R"({"memory_stats":{"usage":-5}})");
    auto odd = co_await living->front()->resource_use(soon());
    EXPECT_TRUE(odd);
  });
}

// The engine says nothing of one container, and does not remove it.
TEST_F(DockerRecovery, ContainerThatResists_CostsNoOtherAndIsRemovedLater) {
  engine_.containers = {
      {"01", {"a", "running", labelled(labels::for_sandbox(spec(), {"sb1"}, {"test"}).value())}},
      {"02", {"b", "running", labelled(labels::for_sandbox(spec(), {"sb2"}, {"test"}).value())}},
      {"03", {"c", "running", labelled(labels::for_sandbox(spec(), {"sb3"}, {"test"}).value())}},
      {"04", {"d", "created", labelled({{"cloche.deriving.owner", "test"}, {"cloche.deriving", "x"}})}}};
  bool resists = true;
  const auto busy = [&](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.reply(resists ? 500 : 404, R"({"message":"device or resource busy"})");
  };
  engine_.server().on("GET /v1.41/containers/02/json", [&](ReceivedRequest, Peer& peer) -> Task<> {
    while (resists) co_await pause_for(10ms);
    co_await peer.reply(404, R"({"message":"no such container"})");
  });
  engine_.server().on("DELETE /v1.41/containers/02", busy);
  engine_.server().on("DELETE /v1.41/containers/04", busy);
  run([&]() -> Task<> {
    auto made = backend();
    auto living = co_await made->recover(Deadline::after(60s));
    EXPECT_TRUE(living) << living.error().message;
    if (living) {
      EXPECT_EQ(living->size(), 2u);
    }
    std::set<std::string> unremoved;
    for (const Unremoved& each : made->unremoved()) unremoved.insert(each.sandbox);
    EXPECT_EQ(unremoved, (std::set<std::string>{"sb2", "x"}));
    resists = false;
    engine_.containers.erase("02");
    engine_.containers.erase("04");
    const Deadline patience = Deadline::after(60s);
    while (!made->unremoved().empty() && !patience.passed()) {
      co_await made->retry_removals();
      co_await pause_for(100ms);
    }
    EXPECT_TRUE(made->unremoved().empty());
  });
}

TEST_F(DockerRecovery, LivingSandbox_KeepsItsUid) {
  auto own = labels::for_sandbox(spec(), {"sb1"}, {"test"}).value();
  own[labels::uid] = "2093060";
  // From before containers said their uid.
  SandboxSpec set = spec();
  set.uid = 1000;
  auto former = labels::for_sandbox(set, {"sb2"}, {"test"}).value();
  former.erase(labels::uid);
  engine_.containers = {{"01", {"a", "running", labelled(own)}}, {"02", {"b", "running", labelled(former)}}};
  run([this]() -> Task<> {
    auto made = backend();
    auto living = co_await made->recover(soon());
    EXPECT_TRUE(living) << living.error().message;
    if (!living) co_return;
    EXPECT_EQ(living->size(), 2u);
    for (const auto& enclosure : *living) {
      EXPECT_EQ(uid_of(enclosure->spec()), enclosure->id().value == "sb1" ? 2'093'060u : 1000u);
    }
  });
}

}  // namespace
}  // namespace cloche::docker
