// A zygote that was changed does not survive a reset: the proof sees it, and the sandbox is not used again.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fstream>
#include <functional>

#include "core/ids.hpp"
#include "core/unique_fd.hpp"
#include "hostile/sandbox/attack.hpp"
#include "hostile/sandbox/stage.hpp"
#include "support/host_processes.hpp"
#include "support/missing.hpp"

namespace cloche::hostile {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing_support::process_with;
using testing_support::Target;

namespace {

enum class Agent { as_it_is, unsealed };

// Writes a byte of its program's code, the same as it was: the page is the process's own from then on.
void write_code_of(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  off_t address = 0;
  for (std::string line; address == 0 && std::getline(maps, line);) {
    if (line.find(" r-xp ") != line.npos && line.find('/') != line.npos) address = std::stol(line, nullptr, 16);
  }
  ASSERT_NE(address, 0);
  const UniqueFd memory(::open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
  char byte = 0;
  ASSERT_EQ(::pread(memory.get(), &byte, 1, address), 1);
  ASSERT_EQ(::pwrite(memory.get(), &byte, 1, address), 1);
}

class HostileTamper : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (const auto lack = testing_support::lack_of(GetParam())) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
    if (GetParam().backend == "docker" && std::getenv("CLOCHE_TEST_DOCKER_REMOTE") != nullptr)
      CLOCHE_DOES_NOT_APPLY("the programs are seen through a mount, and the engine is remote");
  }

  // A sandbox with a zygote, for this body.
  void in_sandbox(Agent agent, std::function<Task<>(LiveSandbox&)> body) {
    auto backend = testing_support::make_backend(
        GetParam(), io_.get_executor(), threads_, stage_.scratch(), {"test-" + random_hex(6)},
        agent == Agent::unsealed ? CLOCHE_UNSEALED_AGENT : testing_support::agent_path());
    ASSERT_TRUE(backend) << backend.error().message;
    asio::co_spawn(
        io_, [&]() -> Task<> { co_await in_sandbox_of(**backend, body); },
        [](std::exception_ptr error) {
          if (error) std::rethrow_exception(error);
        });
    io_.run();
  }

  Task<> start_zygote(LiveSandbox& sandbox) {
    std::vector<std::string> imports(1, "json");
    auto started = co_await sandbox.start_zygote("python", "/usr/bin/python3", std::move(imports),
                                                 "def run(): pass\n# " + words_, Deadline::after(60s));
    EXPECT_TRUE(started) << started.error().message;
  }

  Task<Result<Exec::Collected>> attack(LiveSandbox& sandbox) {
    ExecSpec spec;
    spec.argv = command_of({"processes/replace_watcher"});
    spec.env = stage_.environment();
    auto ran = co_await sandbox.run(std::move(spec), Deadline::after(60s));
    EXPECT_TRUE(ran) << ran.error().message;
    co_return ran;
  }

  const std::string words_ = "zygote-" + random_hex(8);

 private:
  Task<> in_sandbox_of(Backend& backend, std::function<Task<>(LiveSandbox&)> body) {
    SandboxSpec spec = testing_support::spec_for(GetParam());
    Mount mount;
    mount.source = stage_.programs();
    mount.target = "/attack";
    spec.mounts.push_back(std::move(mount));
    auto enclosure = co_await backend.create(std::move(spec), Deadline::after(120s));
    EXPECT_TRUE(enclosure) << enclosure.error().message;
    if (!enclosure) co_return;
    auto sandbox = co_await LiveSandbox::open(std::move(*enclosure), Greeting::fresh, Deadline::after(60s));
    EXPECT_TRUE(sandbox) << sandbox.error().message;
    if (!sandbox) co_return;
    co_await start_zygote(**sandbox);
    co_await body(**sandbox);
    auto destroyed = co_await (*sandbox)->destroy(Deadline::after(60s));
    EXPECT_TRUE(destroyed) << destroyed.error().message;
  }

  Stage stage_;
  asio::io_context io_{1};
  asio::thread_pool threads_{2};
};

}  // namespace

// tries: processes/replace_watcher.c. must: change nothing, so that the zygote survives the reset.
TEST_P(HostileTamper, ProgramThatIsSealed_CannotBeReplaced) {
  in_sandbox(Agent::as_it_is, [this](LiveSandbox& sandbox) -> Task<> {
    auto ran = co_await attack(sandbox);
    if (ran) {
      EXPECT_TRUE(verdict_of(ran->out).holes.empty()) << ran->out;
    }
    auto reset = co_await sandbox.reset(Deadline::after(30s));
    EXPECT_TRUE(reset) << reset.error().message;
    ExecSpec spec;
    spec.argv = {"/attack/attack.py"};
    spec.zygote = "python";
    auto again = co_await sandbox.run(std::move(spec), Deadline::after(60s));
    EXPECT_TRUE(again && again->outcome.success()) << (again ? again->err : again.error().message);
  });
}

// The same with an agent that does not seal: where /proc lets a program in, the attack succeeds, and the reset says so.
TEST_P(HostileTamper, ProgramThatWasReplaced_FailsTheReset) {
  const bool is_closed = !GetParam().is_gvisor() || GetParam().is_modern();
  if (is_closed) CLOCHE_DOES_NOT_APPLY("the descriptors of others are closed by /proc already");
  in_sandbox(Agent::unsealed, [this](LiveSandbox& sandbox) -> Task<> {
    auto ran = co_await attack(sandbox);
    if (ran) {
      EXPECT_FALSE(verdict_of(ran->out).holes.empty()) << "the attack does not see what it should: " << ran->out;
    }
    auto reset = co_await sandbox.reset(Deadline::after(30s));
    EXPECT_FALSE(reset);
    if (!reset) {
      EXPECT_THAT(reset.error().message, HasSubstr("zygote 'python': descriptor"));
    }
  });
}

// By the host's hand, as no program can: what is the same in /proc of every kernel but gVisor's, whose processes the
// host does not see.
TEST_P(HostileTamper, CodeThatWasWritten_FailsTheReset) {
  if (GetParam().is_gvisor()) CLOCHE_DOES_NOT_APPLY("the host does not see the processes");
  in_sandbox(Agent::as_it_is, [this](LiveSandbox& sandbox) -> Task<> {
    co_await attack(sandbox);
    const pid_t zygote = process_with(words_);
    EXPECT_GT(zygote, 0);
    if (zygote > 0) write_code_of(zygote);
    auto reset = co_await sandbox.reset(Deadline::after(30s));
    EXPECT_FALSE(reset);
    if (!reset) {
      EXPECT_THAT(reset.error().message, HasSubstr("zygote 'python': written code"));
    }
  });
}

TEST_P(HostileTamper, PriorityThatWasChanged_FailsTheReset) {
  if (GetParam().is_gvisor()) CLOCHE_DOES_NOT_APPLY("the host does not see the processes");
  in_sandbox(Agent::as_it_is, [this](LiveSandbox& sandbox) -> Task<> {
    co_await attack(sandbox);
    const pid_t zygote = process_with(words_);
    EXPECT_GT(zygote, 0);
    if (zygote > 0) {
      EXPECT_EQ(::setpriority(PRIO_PROCESS, static_cast<id_t>(zygote), 3), 0);
    }
    auto reset = co_await sandbox.reset(Deadline::after(30s));
    EXPECT_FALSE(reset);
    if (!reset) {
      EXPECT_THAT(reset.error().message, HasSubstr("zygote 'python': nice value"));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Reset, HostileTamper, testing::ValuesIn(walled_targets()),
                         [](const auto& about) { return about.param.name(); });

}  // namespace cloche::hostile
