// From creation to the last trace, with every runtime of this host.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <chrono>
#include <thread>

#include "backend/oci/files.hpp"
#include "backend/oci/testing/workbench.hpp"
#include "core/async/event.hpp"
#include "core/ids.hpp"
#include "support/missing.hpp"

namespace cloche::oci {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class Lifecycle : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { CLOCHE_NEEDS_RUNTIME(GetParam()); }
};

TEST_P(Lifecycle, AgentEnds_ChannelEndsAndEvidenceStays) {
  Workbench bench;
  auto backend = bench.backend();
  auto sandbox = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(sandbox);
  EXPECT_EQ(bench.ask(*sandbox, "quit"), "(the agent is gone)");
  EXPECT_THAT(bench.ask(*sandbox, "echo x"), HasSubstr("the sandbox has ended"));
  const auto evidence = bench.run<Result<Evidence>>([&]() -> Task<Result<Evidence>> { return sandbox->evidence(); });
  EXPECT_TRUE(evidence);
  bench.destroy(*sandbox);
  bench.destroy(*sandbox);  // again is fine
  const auto late = bench.run<Result<Evidence>>([&]() -> Task<Result<Evidence>> { return sandbox->evidence(); });
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::sandbox_lost);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Lifecycle, NoTimeLeft_NothingIsMade) {
  Workbench bench;
  auto backend = bench.backend();
  const auto made = bench.try_make(*backend, spec_with(GetParam()), Deadline::after(3ms));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::timeout) << made.error().message;
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Lifecycle, CancelledHalfWay_IsTakenBack) {
  Workbench bench;
  auto backend = bench.backend();
  // At different moments of the making.
  for (const auto after : {0ms, 2ms, 5ms, 10ms, 20ms, 60ms}) {
    asio::cancellation_signal cancel;
    std::optional<Result<std::unique_ptr<Enclosure>>> made;
    asio::co_spawn(
        bench.io(),
        [&]() -> Task<> {
          SandboxSpec spec = spec_with(GetParam());
          auto result = co_await backend->create(std::move(spec), Deadline::after(60s));
          made.emplace(std::move(result));
        },
        asio::bind_cancellation_slot(cancel.slot(), [](std::exception_ptr) {}));
    asio::steady_timer timer(bench.io(), after);
    timer.async_wait([&](boost::system::error_code) { cancel.emit(asio::cancellation_type::all); });
    bench.io().restart();
    bench.io().run();
    // Too late to be cancelled is possible, and then there is a sandbox.
    if (made && *made) {
      bench.destroy(***made);
    } else if (made) {
      EXPECT_EQ(made->error().code, ErrorCode::cancelled) << made->error().message;
    }
    EXPECT_EQ(bench.leftovers(), "") << "after " << after.count() << " ms";
  }
}

TEST_P(Lifecycle, ProgramsThatForkAndIgnore_EndWithTheSandbox) {
  Workbench bench;
  auto backend = bench.backend();
  auto sandbox = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(sandbox);
  // Never answered: the command is busy while the sandbox is destroyed.
  bench.run<Status>([&]() -> Task<Status> { return sandbox->channel().write_all("burn 60000\n"); });
  const auto start = std::chrono::steady_clock::now();
  bench.destroy(*sandbox);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Lifecycle, DescriptorsUsedUpWhileItIsDestroyed_IsGoneOnceTheyAreBack) {
  Workbench bench;
  auto backend = bench.backend();
  auto sandbox = bench.make(*backend, spec_with(GetParam()));
  ASSERT_TRUE(sandbox);
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit few{256, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<UniqueFd> taken;
  for (UniqueFd fd(::dup(2)); fd; fd.reset(::dup(2))) taken.push_back(std::move(fd));
  std::thread giving_back([&] {
    std::this_thread::sleep_for(300ms);
    taken.clear();
  });
  bench.destroy(*sandbox);
  giving_back.join();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(bench.leftovers(), "");
}

TEST_P(Lifecycle, ManyAtOnce_AllComeAndGo) {
  Workbench bench;
  auto backend = bench.backend();
  const int count = 6;
  std::vector<std::unique_ptr<Enclosure>> sandboxes;
  for (int i = 0; i < count; ++i) {
    asio::co_spawn(
        bench.io(),
        [&]() -> Task<> {
          SandboxSpec spec = spec_with(GetParam());
          auto made = co_await backend->create(std::move(spec), Deadline::after(100s));
          EXPECT_TRUE(made) << made.error().message;
          if (made) sandboxes.push_back(std::move(*made));
        },
        [](std::exception_ptr error) { EXPECT_FALSE(error); });
  }
  bench.io().restart();
  bench.io().run();
  ASSERT_EQ(sandboxes.size(), static_cast<std::size_t>(count));
  for (auto& sandbox : sandboxes) EXPECT_EQ(bench.ask(*sandbox, "echo " + sandbox->id().value), sandbox->id().value);
  for (auto& sandbox : sandboxes) {
    asio::co_spawn(
        bench.io(),
        [&sandbox]() -> Task<> {
          const Status gone = co_await sandbox->destroy(Deadline::after(30s));
          EXPECT_TRUE(gone) << gone.error().message;
        },
        [](std::exception_ptr error) { EXPECT_FALSE(error); });
  }
  bench.io().restart();
  bench.io().run();
  EXPECT_EQ(bench.leftovers(), "");
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Lifecycle, ::testing::Values("crun", "runc", "runsc"),
                         [](const auto& runtime) { return std::string(runtime.param); });

}  // namespace
}  // namespace cloche::oci
