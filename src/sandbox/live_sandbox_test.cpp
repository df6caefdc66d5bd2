#include "sandbox/live_sandbox.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "sandbox/testing/scripted_agent.hpp"

namespace cloche {
namespace {

// A sandbox that has a volume, and an agent that is never asked.
class EnclosureWithVolume final : public Enclosure {
 public:
  explicit EnclosureWithVolume(Executor executor) : channel_(std::move(executor)) {}
  const SandboxId& id() const override { return id_; }
  const SandboxSpec& spec() const override { return spec_; }
  std::string runtime() const override { return "none"; }
  Kernel kernel() const override { return Kernel::shared; }
  ScriptedChannel& channel() override { return channel_; }
  std::vector<VolumeMount> volumes() const override {
    return {{.tenant = "acme", .name = "data", .target = "/volumes/data", .access = Access::read_write}};
  }
  Task<Status> set_limits(const Limits&) override { co_return Status{}; }
  Task<Result<Evidence>> evidence() override { co_return Evidence{}; }
  bool has_cheap_evidence() const override { return true; }
  Task<Status> destroy(Deadline) override { co_return Status{}; }

 private:
  SandboxId id_{"with-volume"};
  SandboxSpec spec_;
  ScriptedChannel channel_;
};

TEST(LiveSandboxTest, SandboxWithAVolume_IsNeverReset) {
  asio::io_context io{1};
  const auto enclosure = std::make_shared<EnclosureWithVolume>(io.get_executor());
  LiveSandbox sandbox(io.get_executor(), enclosure, std::make_unique<AgentLink>(io.get_executor(), enclosure));
  bool done = false;
  asio::co_spawn(
      io,
      [&]() -> Task<> {
        const auto reset = co_await sandbox.reset(Deadline::after(std::chrono::seconds(60)));
        EXPECT_FALSE(reset);
        EXPECT_TRUE(enclosure->channel().to_agent.empty()) << "the agent would delete the files of the volume";
        done = true;
      },
      asio::detached);
  io.run();
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace cloche
