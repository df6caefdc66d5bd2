// The kernel that a runtime is expected to have, and the one that the agent finds.
#include "backend/docker/labels.hpp"
#include "backend/docker/testing/backend_over_fake_engine.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche::docker {
namespace {

using http::testing::Peer;
using http::testing::ReceivedRequest;

class KernelEvidence : public testing::BackendOverFakeEngine {
 protected:
  KernelEvidence() {
    engine_.runtimes = R"({"runc":{"path":"runc"},"runsc":{"path":"/usr/bin/runc"},
                           "sandboxed":{"path":"/opt/gvisor/runsc"}})";
  }

  // The agent responds to the server's hello, with what it found.
  void answer_hello(std::optional<bool> is_gvisor) {
    engine_.on_attach([is_gvisor](ReceivedRequest, Peer& peer) -> Task<> {
      wire::FrameDecoder decoder;
      for (;;) {
        const std::string heard = co_await peer.receive();
        if (heard.empty()) break;
        decoder.feed(heard);
        const auto frame = decoder.next().value();
        if (!frame || frame->type != wire::FrameType::hello) continue;
        const auto hello = wire::decode<wire::Hello>(frame->payload).value();
        wire::Ready ready;
        ready.version = wire::protocol_version;
        ready.nonce = hello.nonce;
        ready.is_gvisor = is_gvisor;
        const std::string payload = wire::encode(ready);
        std::string bytes;
        wire::append_frame(bytes, {.type = wire::FrameType::ready, .payload = payload});
        co_await peer.send(testing::frame(1, bytes));
      }
      peer.hang_up();
    });
  }

  Task<Result<std::unique_ptr<LiveSandbox>>> create(Backend& backend, std::string runtime) {
    SandboxSpec wanted = spec();
    wanted.runtime = std::move(runtime);
    CLOCHE_CO_TRY(auto enclosure, co_await backend.create(std::move(wanted), soon()));
    auto sandbox = co_await LiveSandbox::open(std::move(enclosure), Greeting::fresh, soon());
    co_return sandbox;
  }
  void expect_sandbox(const std::string& runtime, Kernel kernel, std::int64_t pids) {
    run([this, runtime, kernel, pids]() -> Task<> {
      auto made = backend();
      auto sandbox = co_await create(*made, runtime);
      EXPECT_TRUE(sandbox) << sandbox.error().message;
      if (!sandbox) co_return;
      EXPECT_EQ((*sandbox)->kernel(), kernel);
      EXPECT_EQ(engine_.containers.size(), 1u);
      const json::value body = engine_.containers.begin()->second.body;
      EXPECT_EQ(json::number(json::find(body, "HostConfig", "PidsLimit")), pids);
      auto destroyed = co_await (*sandbox)->destroy(soon());
      EXPECT_TRUE(destroyed);
    });
  }
  void expect_refusal(const std::string& runtime, const std::string& words) {
    run([this, runtime, words]() -> Task<> {
      auto made = backend();
      auto sandbox = co_await create(*made, runtime);
      EXPECT_FALSE(sandbox);
      if (sandbox) co_return;
      EXPECT_EQ(sandbox.error().code, ErrorCode::unsupported);
      EXPECT_NE(sandbox.error().message.find("'" + runtime + "'"), std::string::npos) << sandbox.error().message;
      EXPECT_NE(sandbox.error().message.find(words), std::string::npos) << sandbox.error().message;
      EXPECT_TRUE(engine_.containers.empty());
    });
  }
};

TEST_F(KernelEvidence, GvisorUnderAnyName_HasAKernelOfItsOwn) {
  answer_hello(true);
  expect_sandbox("sandboxed", Kernel::own, 8448);
}

TEST_F(KernelEvidence, RuntimeThatIsOnlyCalledRunsc_SharesTheKernel) {
  answer_hello(false);
  expect_sandbox("runsc", Kernel::shared, 64);
}

TEST_F(KernelEvidence, AgentThatDoesNotSay_IsAccepted) {
  answer_hello(std::nullopt);
  expect_sandbox("sandboxed", Kernel::own, 8448);
}

TEST_F(KernelEvidence, LinuxInsteadOfGvisor_RefusesAndRemoves) {
  answer_hello(false);
  expect_refusal("sandboxed", "runs them on Linux");
}

TEST_F(KernelEvidence, GvisorInsteadOfLinux_RefusesAndRemoves) {
  answer_hello(true);
  expect_refusal("runc", "runs them on gVisor");
}

TEST_F(KernelEvidence, RecoveredSandbox_HasTheKernelOfItsRuntime) {
  for (const char* runtime : {"runsc", "sandboxed"}) {
    json::object body = labelled(labels::for_sandbox(spec(), {runtime}, {"test"}).value());
    body["HostConfig"].as_object()["Runtime"] = runtime;
    engine_.containers[std::string("0") + runtime] = {runtime, "running", std::move(body)};
  }
  run([this]() -> Task<> {
    auto made = backend();
    auto living = co_await made->recover(soon());
    EXPECT_TRUE(living) << living.error().message;
    if (!living) co_return;
    EXPECT_EQ(living->size(), 2u);
    for (const auto& enclosure : *living) {
      const bool is_gvisor = enclosure->runtime() == "sandboxed";
      EXPECT_EQ(enclosure->kernel(), is_gvisor ? Kernel::own : Kernel::shared);
      // On gVisor the engine's limit is of other threads.
      EXPECT_EQ(enclosure->spec().limits.pids, is_gvisor ? 64u : 99u);
    }
  });
}

}  // namespace
}  // namespace cloche::docker
