// Deaths: whatever dies under a running program, its exec ends at once with an error that says so, the sandbox is not
// used again, and the pool fills up.
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>

#include "core/async/blocking.hpp"
#include "pools/sleeper.hpp"
#include "support/command.hpp"
#include "support/engine_gate.hpp"
#include "support/host_processes.hpp"
#include "support/pools.hpp"

namespace cloche {

namespace {

using testing_support::first_process_of;
using testing_support::processes_of;

Task<> expect_new_sandbox(pool::Manager& manager, const std::string& old_id) {
  pool::Lease lease = co_await lend(manager);
  EXPECT_NE(lease->id().value, old_id);
  const std::string said = co_await shell(lease, "echo well");
  EXPECT_EQ(said, "well\n");
}

Task<> expect_idle(pool::Manager& manager) {
  co_await eventually("one is idle", [&] { return manager.stats().at("box").idle == 1; });
}

// Of a sandbox that is idle afterwards.
Task<std::string> idle_id(pool::Manager& manager) {
  std::string id;
  {
    pool::Lease lease = co_await lend(manager);
    id = lease->id().value;
  }
  co_await expect_idle(manager);
  co_return id;
}

bool cannot_be_silenced(const Target& target) { return target.backend == "docker" && target.is_gvisor(); }

void send_to_first(const Target& target, const std::string& id, int signal) {
  const pid_t pid = first_process_of(target, id);
  EXPECT_GT(pid, 1);
  if (pid > 1) {
    EXPECT_EQ(::kill(pid, signal), 0);
  }
}

}  // namespace

POOLS(AgentKilledDuringAnExec_EndsItAtOnceAndThePoolRefills) {
  in_manager(with(profile(1, 2)), [this](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    const std::string id = lease->id().value;
    const auto exec = co_await start_sleeper(lease);
    send_to_first(target(), id, SIGKILL);
    const Error error = co_await end_of(*exec);
    EXPECT_EQ(error.code, ErrorCode::sandbox_lost) << error.message;
    ExecSpec more = ExecSpec::shell("true");
    auto refused = co_await lease.run(std::move(more), Deadline::after(at_once));
    EXPECT_TRUE(!refused && refused.error().code == ErrorCode::sandbox_lost);
    lease.give_back();
    co_await expect_new_sandbox(manager, id);
    EXPECT_EQ(manager.stats().at("box").lost, 1u);
    co_await eventually("it is gone", [&] { return manager.stats().at("box").destroyed == 1; });
    EXPECT_TRUE(target().is_fake() || processes_of(target(), id).empty());
  });
}

POOLS(AgentKilledWhileNobodyHasIt_IsReplaced) {
  in_manager(with(profile(1, 1)), [this](pool::Manager& manager) -> Task<> {
    const std::string id = co_await idle_id(manager);
    send_to_first(target(), id, SIGKILL);
    co_await eventually("the death is seen", [&] { return manager.stats().at("box").lost == 1; });
    co_await expect_new_sandbox(manager, id);
  });
}

POOLS(AgentThatIsSilentWhileNobodyHasIt_IsFoundByTheHealthCheckAndReplaced) {
  if (cannot_be_silenced(target())) CLOCHE_DOES_NOT_APPLY("an engine cannot remove a gVisor whose kernel is stopped");
  Profile watched = profile(1, 1);
  watched.pool.health_interval = 500ms;
  in_manager(with(watched), [this](pool::Manager& manager) -> Task<> {
    const std::string id = co_await idle_id(manager);
    send_to_first(target(), id, SIGSTOP);
    co_await eventually("the silence is heard", [&] { return manager.stats().at("box").lost == 1; });
    co_await expect_new_sandbox(manager, id);
  });
}

POOLS(AgentThatIsSilentWhenGivenBack_FailsItsResetInTimeAndIsReplaced) {
  if (cannot_be_silenced(target())) CLOCHE_DOES_NOT_APPLY("an engine cannot remove a gVisor whose kernel is stopped");
  Profile brief = profile(1, 1);
  brief.pool.reset_timeout = 1s;
  in_manager(with(brief), [this](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    const std::string id = lease->id().value;
    send_to_first(target(), id, SIGSTOP);
    lease.give_back();
    co_await expect_new_sandbox(manager, id);
    EXPECT_EQ(manager.stats().at("box").resets_failed, 1u);
  });
}

POOLS(AgentKilledDuringItsReset_IsReplaced) {
  in_manager(with(profile(1, 1)), [this](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    const std::string id = lease->id().value;
    // Stopped first, so that the reset cannot be over before the kill.
    send_to_first(target(), id, SIGSTOP);
    lease.give_back();
    co_await eventually("it is being reset", [&] { return manager.stats().at("box").resetting == 1; });
    send_to_first(target(), id, SIGKILL);
    co_await expect_new_sandbox(manager, id);
    const auto stats = manager.stats().at("box");
    EXPECT_EQ(stats.lost, 1u);
    EXPECT_EQ(stats.created, 2u);
  });
}

POOLS(MemoryKillOfTheAgent_EndsTheExecAndThePoolRefills) {
  if (fake_has_no("limit on memory")) return;
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("a memory kill always ends a whole gVisor sandbox");
  in_manager(with(profile(1, 2)), [this](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    const std::string id = lease->id().value;
    ExecSpec hog;
    hog.argv = {"python3", "-c",
                "print('on', flush=True)\ninput()\nopen('/dev/shm/x', 'wb').write(bytes(10 << 20))\n"
                "x = []\nwhile True: x.append(bytearray(1 << 20))"};
    hog.stdin_mode = Stdin::stream;
    auto started = co_await lease.start(std::move(hog), Deadline::after(60s));
    EXPECT_TRUE(started) << started.error().message;
    if (!started) co_return;
    auto said = co_await (*started)->next(Deadline::after(60s));
    EXPECT_TRUE(said);
    // The wrong order: the kernel should kill the agent before the program. Memory in /dev/shm belongs to no process,
    // so that the program uses less than the agent appears to use.
    const pid_t first = first_process_of(target(), id);
    for (const pid_t pid : processes_of(target(), id)) {
      std::ofstream("/proc/" + std::to_string(pid) + "/oom_score_adj") << (pid == first ? "1000" : "0");
    }
    const auto began = Deadline::Clock::now();
    std::string line = "go\n";
    auto written = co_await (*started)->write_stdin(std::move(line), Deadline::after(at_once));
    auto ended = co_await (*started)->collect(Deadline::after(at_once * 2));
    EXPECT_LT(Deadline::Clock::now() - began, at_once) << "the exec hung";
    // The kernel has counted a kill for memory, and so that is what ended the program.
    EXPECT_TRUE(ended) << ended.error().message;
    EXPECT_TRUE(ended && ended->outcome.ending == Ending::memory_limit);
    co_await eventually("the death is seen", [&] { return manager.stats().at("box").lost == 1; });
    lease.give_back();
    co_await expect_new_sandbox(manager, id);
  });
}

POOLS(ContainerKilledThroughTheEngine_EndsTheExecAtOnceAndThePoolRefills) {
  if (target().backend != "docker") CLOCHE_DOES_NOT_APPLY("there is no engine");
  in_manager(with(profile(1, 2)), [this](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    const std::string id = lease->id().value;
    const auto exec = co_await start_sleeper(lease);
    auto kill = [id]() -> Result<int> {
      const std::string host = ::getenv("CLOCHE_TEST_DOCKER_HOST");
      return testing_support::run_command({.argv = {"docker", "-H", host, "kill", testing_support::container_of(id)}})
          .exit_code;
    };
    auto killed = co_await run_blocking(threads_, std::move(kill));
    EXPECT_TRUE(killed && *killed == 0);
    const Error error = co_await end_of(*exec);
    EXPECT_EQ(error.code, ErrorCode::sandbox_lost) << error.message;
    lease.give_back();
    co_await expect_new_sandbox(manager, id);
    EXPECT_EQ(manager.stats().at("box").lost, 1u);
  });
}

POOLS(EngineThatGoesAwayDuringAnExec_EndsItAtOnceAndThePoolRefillsWhenItIsBack) {
  if (target().backend != "docker") CLOCHE_DOES_NOT_APPLY("there is no engine");
  const std::string engine = ::getenv("CLOCHE_TEST_DOCKER_HOST");
  if (!engine.starts_with("unix://")) CLOCHE_DOES_NOT_APPLY("only an engine at a unix socket can be cut off");
  testing_support::EngineGate gate(scratch_.path() / "engine.sock", engine.substr(7));
  ::setenv("CLOCHE_TEST_DOCKER_HOST", gate.host().c_str(), 1);
  auto made = testing_support::make_backend(target(), io_.get_executor(), threads_, scratch_, instance_);
  ::setenv("CLOCHE_TEST_DOCKER_HOST", engine.c_str(), 1);
  ASSERT_TRUE(made) << made.error().message;
  const auto direct = std::exchange(backend_, std::move(*made));
  in_manager(with(profile(1, 2)), [&](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    const std::string id = lease->id().value;
    const auto exec = co_await start_sleeper(lease);
    gate.shut();
    const Error error = co_await end_of(*exec);
    EXPECT_EQ(error.code, ErrorCode::sandbox_lost) << error.message;
    lease.give_back();
    co_await eventually("the death is seen", [&] { return manager.stats().at("box").lost >= 1; });
    ClaimOptions claim;
    claim.wait_timeout = 5s;
    const auto began = Deadline::Clock::now();
    auto refused = co_await manager.acquire("box", claim);
    EXPECT_FALSE(refused);
    EXPECT_LT(Deadline::Clock::now() - began, 5s + at_once);
    gate.open();
    // Until its next try the pool refuses at once.
    co_await eventually("one is made again", [&] { return manager.stats().at("box").idle >= 1; });
    co_await expect_new_sandbox(manager, id);
    // Containers that the engine had created when it stopped, and could not report.
    const std::string label = "label=cloche.owner=" + instance_.value;
    co_await eventually("the engine has only what the pool has", [&] {
      const auto listed =
          testing_support::run_command({.argv = {"docker", "-H", engine, "ps", "-aq", "--filter", label}});
      return std::ranges::count(listed.out, '\n') == manager.stats().at("box").total;
    });
  });
  backend_.reset();
  backend_ = testing_support::make_backend(target(), io_.get_executor(), threads_, scratch_, instance_).value();
}

}  // namespace cloche
