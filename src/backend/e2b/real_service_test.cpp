// The backend against a real service, which the variables of E2B's clients name: E2B_API_KEY, and E2B_API_URL and
// E2B_SANDBOX_URL or E2B_DOMAIN. Without a key the tests are skipped. Each makes sandboxes, and removes them.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>

#include "backend/e2b/e2b_backend.hpp"
#include "core/async/event.hpp"
#include "core/ids.hpp"
#include "sandbox/limits.hpp"
#include "sandbox/live_sandbox.hpp"
#include "support/missing.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;

class E2bRealService : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("E2B_API_KEY") == nullptr) CLOCHE_CANNOT_TEST("e2b", "E2B_API_KEY is not set");
    owner_ = "test-" + random_hex(6);
  }

  void run(const std::function<Task<>()>& body) {
    std::exception_ptr thrown;
    asio::co_spawn(io_, body, [&](std::exception_ptr error) { thrown = error; });
    io_.run();
    if (thrown) std::rethrow_exception(thrown);
  }
  std::unique_ptr<Backend> backend() {
    E2bSettings settings = e2b_settings({}).value();
    settings.instance = {owner_};
    settings.agent_path = CLOCHE_TEST_AGENT;
    return create_e2b_backend(io_.get_executor(), threads_, std::move(settings)).value();
  }
  static SandboxSpec spec() {
    SandboxSpec made;
    made.limits = limits_of_image(made.limits);
    return made;
  }
  static Task<Result<std::unique_ptr<LiveSandbox>>> open(Backend& backend) {
    SandboxSpec wanted = spec();
    auto made = co_await backend.create(std::move(wanted), Deadline::after(60s));
    if (!made) co_return fail(std::move(made).error());
    co_return co_await LiveSandbox::open(std::move(*made), Greeting::fresh, Deadline::after(30s));
  }
  static Task<std::string> output_of(LiveSandbox& sandbox, std::string line) {
    ExecSpec what = ExecSpec::shell(std::move(line));
    auto ran = co_await sandbox.run(std::move(what), Deadline::after(60s));
    EXPECT_TRUE(ran) << ran.error().message;
    co_return ran ? ran->out : std::string();
  }

  asio::io_context io_{1};
  asio::thread_pool threads_{1};
  std::string owner_;
};

TEST_F(E2bRealService, ProgramsAndFiles_Work) {
  run([this]() -> Task<> {
    auto made = backend();
    auto sandbox = co_await open(*made);
    EXPECT_TRUE(sandbox) << sandbox.error().message;
    if (!sandbox) co_return;
    const std::string said = co_await output_of(**sandbox, "id -u; pwd; echo hello > file; cat file");
    EXPECT_EQ(said, "1000\n/workspace\nhello\n");
    FilePath place("/workspace/large");
    std::string bytes(3 << 20, 'x');
    WriteOptions how;
    auto files = (*sandbox)->files();
    auto written = co_await files.write(std::move(place), std::move(bytes), how, Deadline::after(60s));
    EXPECT_TRUE(written) << written.error().message;
    const std::string size = co_await output_of(**sandbox, "wc -c < large; head -c 2000000 /dev/zero | wc -c");
    EXPECT_EQ(size, "3145728\n2000000\n");
    auto gone = co_await (*sandbox)->destroy(Deadline::after(30s));
    EXPECT_TRUE(gone) << gone.error().message;
  });
}

TEST_F(E2bRealService, NextServer_TakesTheSandboxUp) {
  run([this]() -> Task<> {
    {
      auto first = backend();
      auto sandbox = co_await open(*first);
      EXPECT_TRUE(sandbox) << sandbox.error().message;
      if (!sandbox) co_return;
      co_await output_of(**sandbox, "echo kept > file");
      co_await (*sandbox)->release();
    }
    auto second = backend();
    auto living = co_await second->recover(Deadline::after(30s));
    EXPECT_TRUE(living && living->size() == 1) << (living ? "none" : living.error().message);
    if (!living || living->empty()) co_return;
    auto sandbox = co_await LiveSandbox::open(std::move(living->front()), Greeting::takeover, Deadline::after(30s));
    EXPECT_TRUE(sandbox) << sandbox.error().message;
    if (!sandbox) co_return;
    const std::string said = co_await output_of(**sandbox, "cat file");
    EXPECT_EQ(said, "kept\n");
    co_await (*sandbox)->destroy(Deadline::after(30s));
  });
}

TEST_F(E2bRealService, SandboxThatTheServiceEnds_IsLostSoon) {
  run([this]() -> Task<> {
    auto made = backend();
    auto sandbox = co_await open(*made);
    EXPECT_TRUE(sandbox) << sandbox.error().message;
    if (!sandbox) co_return;
    auto ended = co_await made->remove_belongings(Deadline::after(30s));
    EXPECT_TRUE(ended) << ended.error().message;
    const Deadline patience = Deadline::after(30s);
    while (!(*sandbox)->lost() && !patience.passed()) co_await pause_for(50ms);
    EXPECT_TRUE((*sandbox)->lost() && (*sandbox)->lost()->code == ErrorCode::sandbox_lost);
    auto gone = co_await (*sandbox)->destroy(Deadline::after(30s));
    EXPECT_TRUE(gone) << "one that is gone is removed";
  });
}

// Prints what a ping and a run cost; docs/decisions/0046 has the figures.
TEST_F(E2bRealService, PingsAndRuns_AreMeasured) {
  run([this]() -> Task<> {
    auto made = backend();
    const auto start = Deadline::Clock::now();
    auto sandbox = co_await open(*made);
    EXPECT_TRUE(sandbox) << sandbox.error().message;
    if (!sandbox) co_return;
    const auto in_ms = [](Deadline::Clock::duration span) {
      return std::chrono::duration<double, std::milli>(span).count();
    };
    std::printf("create: %.1f ms\n", in_ms(Deadline::Clock::now() - start));
    std::vector<double> pings, runs;
    for (int i = 0; i < 50; ++i) {
      const auto before = Deadline::Clock::now();
      auto answered = co_await (*sandbox)->ping(Deadline::after(10s));
      EXPECT_TRUE(answered);
      pings.push_back(in_ms(Deadline::Clock::now() - before));
    }
    for (int i = 0; i < 50; ++i) {
      const auto before = Deadline::Clock::now();
      co_await output_of(**sandbox, "true");
      runs.push_back(in_ms(Deadline::Clock::now() - before));
    }
    FilePath place("/workspace/large");
    std::string bytes(4 << 20, 'x');
    const WriteOptions how;
    auto files = (*sandbox)->files();
    const auto before = Deadline::Clock::now();
    auto written = co_await files.write(std::move(place), std::move(bytes), how, Deadline::after(120s));
    EXPECT_TRUE(written) << written.error().message;
    std::printf("write of 4 MiB: %.1f ms\n", in_ms(Deadline::Clock::now() - before));
    std::ranges::sort(pings);
    std::ranges::sort(runs);
    std::printf("ping: median %.2f ms, 90%% %.2f ms\n", pings[25], pings[45]);
    std::printf("run:  median %.2f ms, 90%% %.2f ms\n", runs[25], runs[45]);
    co_await (*sandbox)->destroy(Deadline::after(30s));
  });
}

}  // namespace
}  // namespace cloche
