// Derived images with an engine that fails, or that callers use at the same time.
#include "backend/docker/testing/backend_over_fake_engine.hpp"
#include "core/async/task_group.hpp"

namespace cloche::docker {
namespace {

using namespace std::chrono_literals;
using http::testing::Peer;
using http::testing::ReceivedRequest;
using testing::FakeEngine;

class DeriveImage : public testing::BackendOverFakeEngine {};

TEST_F(DeriveImage, ManyAtOnce_DeriveTheImageOnce) {
  run([this]() -> Task<> {
    auto made = backend();
    TaskGroup tasks(io_.get_executor());
    int done = 0;
    for (int i = 0; i < 5; ++i) {
      tasks.spawn("create", [&]() -> Task<> {
        auto wanted = spec();
        auto enclosure = co_await made->create(std::move(wanted), soon());
        EXPECT_TRUE(enclosure) << enclosure.error().message;
        if (!enclosure) co_return;
        auto destroyed = co_await (*enclosure)->destroy(soon());
        EXPECT_TRUE(destroyed);
        ++done;
      });
    }
    co_await tasks.join();
    EXPECT_EQ(done, 5);
    EXPECT_EQ(engine_.server().count("POST /v1.41/commit"), 1u);
    EXPECT_TRUE(engine_.containers.empty());
  });
}

TEST_F(DeriveImage, DerivingThatIsCancelled_IsTakenOverByTheNext) {
  run([this]() -> Task<> {
    auto made = backend();
    int puts = 0;
    engine_.server().on("PUT /v1.41/containers/0", [&puts](ReceivedRequest, Peer& peer) -> Task<> {
      if (++puts == 1) {
        co_await peer.receive();
        peer.hang_up();
        co_return;
      }
      co_await peer.reply(200, "");
    });
    TaskGroup first(io_.get_executor()), second(io_.get_executor());
    const auto create = [&]() -> Task<> {
      auto wanted = spec();
      auto enclosure = co_await made->create(std::move(wanted), soon());
      EXPECT_TRUE(enclosure);
      if (enclosure) co_await (*enclosure)->destroy(soon());
    };
    first.spawn("first", create);
    second.spawn("second", create);
    while (puts == 0) co_await pause_for(1ms);
    co_await first.shut_down();
    co_await second.join();
    EXPECT_EQ(puts, 2);
    while (!engine_.containers.empty()) co_await pause_for(1ms);
  });
}

TEST_F(DeriveImage, DerivedImageThatSomebodyRemoved_IsDerivedAgain) {
  run([this]() -> Task<> {
    auto made = backend();
    auto wanted = spec();
    auto enclosure = co_await made->create(std::move(wanted), soon());
    EXPECT_TRUE(enclosure);
    if (enclosure) co_await (*enclosure)->destroy(soon());
    engine_.images.erase(engine_.images.upper_bound("base:latest"));
    int refused = 0;
    engine_.server().on(
        "POST /v1.41/containers/create", [this, &refused](ReceivedRequest request, Peer& peer) -> Task<> {
          const bool deriving = request.target.find("derive") != request.target.npos;
          if (!deriving && ++refused == 1) {
            co_await peer.reply(404, R"({"message":"No such image"})");
            co_return;
          }
          const std::string id = deriving ? "0d" : "0e";
          engine_.containers[id] = FakeEngine::Container{"x", "created", json::parse(request.body).value().as_object()};
          co_await peer.reply(201, R"({"Id":")" + id + R"(","Warnings":null})");
        });
    auto again = spec();
    auto second = co_await made->create(std::move(again), soon());
    EXPECT_TRUE(second) << second.error().message;
    EXPECT_EQ(engine_.server().count("POST /v1.41/commit"), 2u);
    if (second) co_await (*second)->destroy(soon());
    EXPECT_TRUE(engine_.containers.empty());
  });
}

}  // namespace
}  // namespace cloche::docker
