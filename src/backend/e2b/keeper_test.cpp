// How the life of a sandbox is prolonged, and until when.
#include "backend/e2b/keeper.hpp"

#include "backend/e2b/testing/backend_over_fake_service.hpp"

namespace cloche::e2b {
namespace {

using namespace std::chrono_literals;
using http::testing::Peer;
using http::testing::ReceivedRequest;

class E2bKeeper : public testing::OverFakeService {
 protected:
  Remote remote() {
    Remote made;
    made.executor = io_.get_executor();
    made.control = control();
    made.id = "i1";
    made.sandbox = "sb1";
    return made;
  }
  static Keeper::Times quick() { return {.interval = 5ms, .retry = 1ms, .attempt = 300ms}; }
};

TEST_F(E2bKeeper, Life_IsProlongedUntilTheKeeperIsGone) {
  service_.sandboxes["i1"];
  run([this]() -> Task<> {
    {
      const Keeper keeper(remote(), quick());
      while (service_.sandboxes["i1"].prolonged < 3) co_await pause_for(1ms);
      EXPECT_EQ(service_.sandboxes["i1"].lifetime, lifetime.count());
    }
    co_await pause_for(10ms);
    const int so_far = service_.sandboxes["i1"].prolonged;
    co_await pause_for(50ms);
    EXPECT_EQ(service_.sandboxes["i1"].prolonged, so_far);
  });
}

TEST_F(E2bKeeper, ServiceThatFails_IsAskedAgain) {
  service_.sandboxes["i1"];
  int asked = 0;
  service_.server().on("POST /sandboxes/i1/timeout", [&asked](ReceivedRequest, Peer& peer) -> Task<> {
    ++asked;
    co_await peer.reply(asked < 3 ? 500 : 204, "{}");
  });
  run([this, &asked]() -> Task<> {
    const Keeper keeper(remote(), quick());
    while (asked < 5) co_await pause_for(1ms);
  });
}

TEST_F(E2bKeeper, SandboxThatIsGone_EndsTheKeeping) {
  run([this]() -> Task<> {
    const Keeper keeper(remote(), quick());
    while (service_.server().count("POST /sandboxes/i1/timeout") == 0) co_await pause_for(1ms);
    co_await pause_for(50ms);
    EXPECT_EQ(service_.server().count("POST /sandboxes/i1/timeout"), 1U);
  });
}

}  // namespace
}  // namespace cloche::e2b
