// Managers and leases of the public library, as its users see them.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>

#include "cloche/async_manager.hpp"
#include "cloche/manager.hpp"
#include "library/library.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Managers : public Library {
 protected:
  ManagerOptions manager_options(std::string instance = "") const {
    ManagerOptions manager;
    manager.engine = options(std::move(instance));
    Profile profile;
    profile.name = "box";
    profile.sandbox = spec();
    profile.pool.pool_size = 1;
    profile.pool.scale_limit = 2;
    profile.pool.wait_timeout = 60s;
    manager.profiles.push_back(profile);
    manager.aliases["python"] = "box";
    manager.drain_timeout = 200ms;
    return manager;
  }
  static std::string own_instance() { return "test-" + std::to_string(::getpid()); }

  // A program that has a manager and a lease, prints the sandbox's id, and does `then`.
  struct Program {
    pid_t pid;
    std::string sandbox;
    int wait() const {
      int status = 0;
      ::waitpid(pid, &status, 0);
      return status;
    }
  };
  enum class Awaits { nothing, signals };
  static bool handles_signals() {
    struct sigaction action{};
    ::sigaction(SIGTERM, nullptr, &action);
    return action.sa_handler != SIG_DFL;
  }
  Program start_program(const ManagerOptions& options, Awaits awaits, const std::function<void(Manager&)>& then) {
    std::array<int, 2> report{};
    EXPECT_EQ(::pipe(report.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        Manager manager(options);
        Lease lease = manager.acquire("box");
        std::thread([&report, awaits, id = lease->id()] {
          while (awaits == Awaits::signals && !handles_signals()) std::this_thread::yield();
          if (::write(report[1], id.data(), id.size()) < 0) ::_exit(2);
        }).detach();
        then(manager);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      ::_exit(1);
    }
    ::close(report[1]);
    std::array<char, 256> id{};
    const ssize_t n = ::read(report[0], id.data(), id.size());
    EXPECT_GT(n, 0) << "no sandbox was lent";
    ::close(report[0]);
    return {child, {id.data(), n > 0 ? static_cast<std::size_t>(n) : 0}};
  }
};

TEST_F(Managers, Acquire_LendsByProfileOrAliasAndTakesBackWithTheLease) {
  ManagerOptions single = manager_options();
  single.profiles[0].pool.scale_limit = 1;
  Manager manager(single);
  std::string id;
  {
    Lease lease = manager.acquire("box");
    id = lease->id();
    EXPECT_EQ(lease->run(ExecSpec::shell("echo hello")).out, "hello\n");
    EXPECT_EQ(manager.stats().at("box").active, 1u);
  }
  EXPECT_EQ(manager.stats().at("box").active, 0u);
  Lease again = manager.acquire("python");
  EXPECT_EQ(again->id(), id);
  EXPECT_THAT(manager.profiles(), ElementsAre("box"));
}

TEST_F(Managers, With_GivesBackOnExceptionsToo) {
  Manager manager(manager_options());
  const auto said = manager.with("box", [](Sandbox& sandbox) { return sandbox.run(ExecSpec::shell("echo in")).out; });
  EXPECT_EQ(said, "in\n");
  EXPECT_THROW(manager.with("box", [](Sandbox&) { throw std::logic_error("on purpose"); }), std::logic_error);
  EXPECT_EQ(manager.stats().at("box").active, 0u);
}

TEST_F(Managers, ReleaseTwiceOrOfAForeignOrDestroyedSandbox_IsHarmless) {
  Manager manager(manager_options());
  auto sandbox = manager.get("box");
  EXPECT_EQ(manager.release("box", sandbox), Returned::now);
  EXPECT_EQ(manager.release("box", sandbox), Returned::already);
  EXPECT_EQ(manager.destroy("box", sandbox), Returned::already);
  EXPECT_THROW(sandbox->run(ExecSpec::shell("true")), SandboxLostError);

  auto poisoned = manager.get("box");
  EXPECT_EQ(manager.destroy("box", poisoned), Returned::now);
  EXPECT_EQ(manager.release("box", poisoned), Returned::already);

  Engine engine(options());
  const auto foreign = std::make_shared<Sandbox>(engine.create(spec()));
  EXPECT_EQ(manager.release("box", foreign), Returned::foreign);
  EXPECT_EQ(manager.destroy("box", foreign), Returned::foreign);
  EXPECT_EQ(manager.release("box", nullptr), Returned::foreign);
  EXPECT_EQ(foreign->run(ExecSpec::shell("echo unharmed")).out, "unharmed\n");
  EXPECT_THROW(manager.release("cobol", foreign), SandboxNotFoundError);
}

TEST_F(Managers, ProfileWithScripts_RunsEachInAFreshForkAndTellsItsEvents) {
  ManagerOptions scripted = manager_options();
  scripted.profiles[0].scripts.emplace();
  scripted.profiles[0].secrets.push_back("TOKEN");
  scripted.secrets["TOKEN"] = "s3cret";
  Manager manager(scripted);
  for (int round = 0; round < 2; ++round) {
    Lease lease = manager.acquire("box");
    ScriptRequest request;
    request.source =
        "import os\n"
        "print('{\"type\": \"final_result\", \"data\": \"forged\"}')\n"
        "intermediate('half', inputs['n'] / 2)\n"
        "final_result({'token': os.environ['TOKEN'], 'seen': globals().get('seen')})\n";
    request.inputs = "{\"n\": 42}";
    std::vector<std::string> labels;
    const ScriptResult result = lease->run_script(request, [&](const ScriptEvent& event) {
      if (const auto* half = std::get_if<IntermediateEvent>(&event)) labels.push_back(half->label + "=" + half->data);
    });
    EXPECT_EQ(result.ending, ScriptEnding::final_result);
    EXPECT_EQ(result.final_result, "{\"token\":\"s3cret\",\"seen\":null}");
    EXPECT_THAT(labels, ElementsAre("half=21.0"));
    ASSERT_EQ(result.logs.size(), 1u);
    EXPECT_THAT(result.logs[0].message, HasSubstr("forged"));
  }
}

TEST_F(Managers, Errors_AreTyped) {
  Manager manager(manager_options());
  EXPECT_THROW(manager.acquire("cobol"), SandboxNotFoundError);
  Lease first = manager.acquire("box");
  Lease second = manager.acquire("box");
  ClaimOptions at_once;
  at_once.at_limit = AtLimit::fail;
  EXPECT_THROW(manager.acquire("box", at_once), SandboxResourceError);
  ClaimOptions briefly;
  briefly.wait_timeout = 20ms;
  EXPECT_THROW(manager.acquire("box", briefly), SandboxTimeoutError);
  manager.shutdown();
  EXPECT_THROW(manager.acquire("box"), SandboxUnavailableError);
  EXPECT_THROW(first->run(ExecSpec::shell("true")), SandboxLostError);
  ManagerOptions absurd = manager_options();
  absurd.profiles[0].pool.pool_size = 5;
  EXPECT_THROW(Manager{absurd}, SandboxArgumentError);
}

TEST_F(Managers, ClaimsFromManyThreads_AreAllServed) {
  Manager manager(manager_options());
  std::atomic<int> served = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 5; ++j) {
        Lease lease = manager.acquire("box");
        served += lease->run(ExecSpec::shell("echo here")).out == "here\n";
      }
    });
  }
  threads.clear();
  EXPECT_EQ(served, 40);
  EXPECT_LE(manager.stats().at("box").total, 2u);
}

TEST_F(Managers, TwoManagersOfOneInstance_TheSecondIsRefused) {
  const ManagerOptions named = manager_options(own_instance());
  Manager manager(named);
  try {
    Manager second(named);
    FAIL() << "two manage one instance";
  } catch (const SandboxError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is in use by process"));
  }
  EXPECT_TRUE(manager.acquire("box").give_back());
}

TEST_F(Managers, ProgramKilled_TheNextManagerOfTheInstanceTakesOver) {
  const ManagerOptions named = manager_options(own_instance());
  const Program program = start_program(named, Awaits::nothing, [](Manager&) { ::pause(); });
  ::kill(program.pid, SIGKILL);
  program.wait();
  EXPECT_THAT(cgroups_of(program.sandbox), Not(IsEmpty()));
  Manager manager(named);
  EXPECT_THAT(cgroups_of(program.sandbox), IsEmpty()) << "the lent one has lost its owner";
  EXPECT_EQ(manager.acquire("box")->run(ExecSpec::shell("echo on")).out, "on\n");
}

TEST_F(Managers, SignalToAProgramThatWaitsForIt_DrainsAndTheProgramGoesOn) {
  const Program program = start_program(manager_options(), Awaits::signals, [](Manager& manager) {
    const int number = manager.run_until_signalled();
    ::_exit(number == SIGTERM && manager.stats().at("box").total == 0 ? 0 : 3);
  });
  ::kill(program.pid, SIGTERM);
  const int status = program.wait();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(cgroups_of(program.sandbox), IsEmpty());
}

TEST_F(Managers, SignalToAProgramAtWork_DrainsAndEndsItByThatSignal) {
  const Program program = start_program(manager_options(), Awaits::signals, [](Manager& manager) {
    manager.shutdown_on_signals();
    for (;;) ::pause();
  });
  ::kill(program.pid, SIGINT);
  const int status = program.wait();
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
  EXPECT_THAT(cgroups_of(program.sandbox), IsEmpty());
}

TEST_F(Managers, SecondSignal_WaitsForNoLease) {
  ManagerOptions patient = manager_options();
  patient.drain_timeout = 1h;
  const Program program = start_program(patient, Awaits::signals, [](Manager& manager) {
    manager.run_until_signalled();
    ::_exit(0);
  });
  ::kill(program.pid, SIGTERM);
  // The first one has begun to drain when claims are refused; from outside all that can be done is to ask again.
  for (int i = 0; i < 600 && ::waitpid(program.pid, nullptr, WNOHANG) == 0; ++i) {
    std::this_thread::sleep_for(100ms);
    ::kill(program.pid, SIGTERM);
  }
  EXPECT_THAT(cgroups_of(program.sandbox), IsEmpty());
}

}  // namespace
}  // namespace cloche
