#include "backend/kubernetes/pod/pod_watch.hpp"

#include "backend/kubernetes/testing/over_fake_cluster.hpp"
#include "core/async/task_group.hpp"

namespace cloche::kubernetes {
namespace {

using namespace std::chrono_literals;

TEST(WatchEvent, Kinds_AreRead) {
  const auto added =
      read_watch_event(R"({"type":"ADDED","object":{"metadata":{"name":"p","uid":"u","resourceVersion":"5"}}})");
  ASSERT_TRUE(added);
  EXPECT_EQ(added->kind, WatchEvent::Kind::changed);
  EXPECT_EQ(added->pod.name, "p");
  EXPECT_EQ(added->resource_version, "5");
  EXPECT_EQ(read_watch_event(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}})")->kind,
            WatchEvent::Kind::bookmark);
  EXPECT_EQ(read_watch_event(R"({"type":"ERROR","object":{"kind":"Status","code":410}})")->kind,
            WatchEvent::Kind::expired);
  EXPECT_FALSE(read_watch_event(R"({"type":"ERROR","object":{"kind":"Status","code":500,"message":"m"}})"));
  EXPECT_FALSE(read_watch_event("nonsense"));
  EXPECT_FALSE(read_watch_event(R"({"type":"ADDED"})"));
}

class PodWatchTest : public testing::OverFakeCluster {
 protected:
  static json::object pod(const std::string& name, const std::string& phase) {
    json::object made;
    made["metadata"] = json::object{{"name", name}, {"uid", "uid-of-" + name}};
    made["status"] = json::object{{"phase", phase}};
    return made;
  }
  std::shared_ptr<PodWatch> watch() { return std::make_shared<PodWatch>(io_.get_executor(), api(), "labelSelector=x"); }
  // Waits for a pod that runs, while `meanwhile` happens.
  void wait_while(const std::function<Task<>()>& meanwhile) {
    run([this, meanwhile]() -> Task<> {
      auto watched = watch();
      TaskGroup tasks(io_.get_executor());
      bool has_come = false;
      tasks.spawn("wait", [&]() -> Task<> {
        std::function<bool(const Pod&)> is_so = [](const Pod& found) { return found.phase == "Running"; };
        auto running = co_await watched->wait("p", std::move(is_so), soon());
        EXPECT_TRUE(running) << running.error().message;
        has_come = true;
      });
      while (watches() == 0) co_await pause_for(1ms);
      EXPECT_FALSE(has_come);
      co_await meanwhile();
      co_await tasks.join();
      EXPECT_TRUE(has_come);
    });
  }
  std::size_t watches() { return cluster_.server().count("GET /api/v1/namespaces/sandboxes/pods?watch=1"); }
  std::size_t lists() { return cluster_.server().count("GET /api/v1/namespaces/sandboxes/pods?limit="); }
};

TEST_F(PodWatchTest, Changes_ReachAWaiter_AlsoOverAWatchThatEnds) {
  cluster_.put(pod("p", "Pending"));
  wait_while([this]() -> Task<> {
    cluster_.end_watches();
    while (watches() < 2) co_await pause_for(1ms);
    cluster_.put(pod("p", "Running"));
  });
  EXPECT_EQ(lists(), 1U) << "the watch is continued where it was";
}

TEST_F(PodWatchTest, VersionThatIsTooOld_IsListedAgain) {
  cluster_.put(pod("p", "Pending"));
  wait_while([this]() -> Task<> {
    cluster_.pods.at("p") = pod("p", "Running");
    cluster_.pods.at("p")["metadata"].as_object()["resourceVersion"] = std::to_string(cluster_.version() + 1);
    cluster_.expire_watches();
    while (lists() < 2) co_await pause_for(1ms);
  });
}

TEST_F(PodWatchTest, PodThatIsDeletedMeanwhile_EndsTheWait) {
  run([this]() -> Task<> {
    cluster_.put(pod("p", "Pending"));
    auto watched = watch();
    TaskGroup tasks(io_.get_executor());
    tasks.spawn("wait", [&]() -> Task<> {
      std::function<bool(const Pod&)> is_so = [](const Pod& found) { return found.phase == "Running"; };
      auto running = co_await watched->wait("p", std::move(is_so), soon());
      EXPECT_TRUE(!running && running.error().code == ErrorCode::not_found);
    });
    while (watches() == 0) co_await pause_for(1ms);
    cluster_.erase("p");
    co_await tasks.join();
  });
}

TEST_F(PodWatchTest, PodThatGoes_IsGone_AndAnotherOfItsNameIsNotMeant) {
  run([this]() -> Task<> {
    cluster_.put(pod("p", "Running"));
    auto watched = watch();
    TaskGroup tasks(io_.get_executor());
    tasks.spawn("wait", [&]() -> Task<> {
      auto gone = co_await watched->wait_until_gone("p", "uid-of-p", soon());
      EXPECT_TRUE(gone) << gone.error().message;
    });
    while (watches() == 0) co_await pause_for(1ms);
    cluster_.erase("p");
    co_await tasks.join();
    cluster_.put(pod("p", "Running"));
    auto other = co_await watched->wait_until_gone("p", "uid-of-another", soon());
    EXPECT_TRUE(other);
    EXPECT_EQ(watched->known("p"), nullptr) << "nothing waits, so nothing is kept";
  });
}

}  // namespace
}  // namespace cloche::kubernetes
