// The uids of sandboxes on an engine's host.
#include "backend/docker/own_uids.hpp"

#include <set>

#include "backend/docker/labels.hpp"
#include "backend/docker/testing/backend_over_fake_engine.hpp"

namespace cloche::docker {
namespace {

using http::testing::Peer;
using http::testing::ReceivedRequest;
using testing::FakeEngine;

class DockerUids : public testing::BackendOverFakeEngine {
 protected:
  DockerOptions with_uids(std::uint32_t count) const {
    DockerOptions options = engine_.options();
    options.uids = {70'000, count};
    return options;
  }
  void add_container_with(std::uint32_t uid, const std::string& id) {
    auto theirs = labels::for_sandbox(spec(), {id}, {"another"}).value();
    theirs[labels::uid] = std::to_string(uid);
    engine_.containers["0" + id] = {id, "running", labelled(theirs)};
  }
  void expect_uid(const SandboxSpec& wanted, DockerOptions options, std::uint32_t uid) {
    run([this, wanted, options, uid]() -> Task<> {
      auto made = backend(options);
      auto copy = wanted;
      auto enclosure = co_await made->create(std::move(copy), soon());
      EXPECT_TRUE(enclosure) << enclosure.error().message;
      if (!enclosure) co_return;
      EXPECT_EQ(uid_of((*enclosure)->spec()), uid);
      co_await (*enclosure)->destroy(soon());
    });
  }
};

TEST_F(DockerUids, SandboxWithoutAUid_GetsOneThatNoOtherHas) {
  add_container_with(70'000, "a");
  add_container_with(70'002, "b");
  run([this]() -> Task<> {
    auto made = backend(with_uids(3));
    auto first = spec();
    auto enclosure = co_await made->create(std::move(first), soon());
    EXPECT_TRUE(enclosure) << enclosure.error().message;
    if (!enclosure) co_return;
    EXPECT_EQ((*enclosure)->spec().uid, 70'001u);
    int seen = 0;
    for (const auto& [id, container] : engine_.containers) {
      const json::value body = container.body;
      if (json::text(json::find(body, "Labels", labels::uid)) != "70001") continue;
      ++seen;
      EXPECT_NE(
          json::text(json::find(*json::find(body, "HostConfig", "Tmpfs"), "/workspace")).find("uid=70001,gid=1000"),
          std::string::npos);
    }
    EXPECT_EQ(seen, 1);
    auto second = spec();
    auto refused = co_await made->create(std::move(second), soon());
    EXPECT_FALSE(refused);
    if (!refused) {
      EXPECT_EQ(refused.error().code, ErrorCode::limit_reached) << refused.error().message;
    }
    co_await (*enclosure)->destroy(soon());
    auto third = spec();
    auto again = co_await made->create(std::move(third), soon());
    EXPECT_TRUE(again) << "a uid is free again when its container is gone";
    if (again) co_await (*again)->destroy(soon());
  });
}

TEST_F(DockerUids, UidThatAnotherServerClaimsAtTheSameTime_IsGivenUp) {
  std::set<std::string> claimed;
  engine_.server().on("POST /v1.41/containers/create", [this, &claimed](ReceivedRequest request, Peer& peer) -> Task<> {
    const bool deriving = request.target.find("derive") != request.target.npos;
    const json::object body = json::parse(request.body).value().as_object();
    const json::value labels = *body.if_contains("Labels");
    const std::string uid = json::text(json::find(labels, labels::uid));
    const std::string id = deriving ? "0d" : "0e" + std::to_string(claimed.size());
    if (!deriving && claimed.empty()) add_container_with(static_cast<std::uint32_t>(std::stoul(uid)), "theirs");
    if (!deriving) claimed.insert(uid);
    engine_.containers[id] = {"x", "created", body};
    co_await peer.reply(201, R"({"Id":")" + id + R"(","Warnings":null})");
  });
  run([this, &claimed]() -> Task<> {
    auto made = backend(with_uids(1000));
    auto wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(enclosure) << enclosure.error().message;
    if (!enclosure) co_return;
    EXPECT_EQ(claimed.size(), 2u);
    EXPECT_EQ(engine_.containers.size(), 2u) << "theirs and mine";
    co_await (*enclosure)->destroy(soon());
  });
}

TEST_F(DockerUids, UidOfTheSpec_IsKept) {
  SandboxSpec wanted = spec();
  wanted.uid = 1000;
  expect_uid(wanted, with_uids(3), 1000);
}

TEST_F(DockerUids, SandboxWithMounts_HasTheUsualUid) {
  SandboxSpec wanted = spec();
  wanted.mounts = {{"/srv/data", "/data", Access::read_only}};
  expect_uid(wanted, with_uids(3), 1000);
}

TEST_F(DockerUids, GvisorCountsForEachSandbox_SoItHasTheUsualUid) {
  engine_.runtimes = R"({"runc":{"path":"runc"},"runsc":{"path":"/usr/bin/runsc"}})";
  expect_uid(spec(), with_uids(3), 1000);
}

TEST_F(DockerUids, EmptyRange_LeavesAllWithTheUsualUid) { expect_uid(spec(), with_uids(0), 1000); }

}  // namespace
}  // namespace cloche::docker
