// Execs whose supervisor dies, whose lease ends, or that are not read: each ends immediately, and its program with it.
#include <signal.h>

#include "pools/sleeper.hpp"
#include "support/host_processes.hpp"
#include "support/pools.hpp"

namespace cloche {

using testing_support::supervisors_of;

POOLS(SupervisorKilled_EndsItsExecWithAnErrorAndTheProgramWithIt) {
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("the host does not see gVisor's processes");
  Profile forking = profile(1, 1);
  forking.zygotes.emplace_back();
  in_manager(with(forking), [this](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    for (const char* zygote : {"", "python"}) {
      const auto exec = co_await start_sleeper(lease, zygote);
      // A zygote's run can be there before its supervisor has its name.
      std::vector<pid_t> supervisors;
      std::function<bool()> are_there = [&] {
        supervisors = supervisors_of(target(), lease->id().value);
        return !supervisors.empty();
      };
      co_await eventually("the exec has a supervisor", std::move(are_there));
      EXPECT_GE(supervisors.size(), 1u);  // the zygote's spare has one, too, and a run that finds it dead has another
      for (const pid_t pid : supervisors) ::kill(pid, SIGKILL);
      const Error error = co_await end_of(*exec);
      EXPECT_EQ(error.code, ErrorCode::internal);
      EXPECT_THAT(error.message, HasSubstr("supervisor was lost"));
    }
    // The agent is as well as before, and nothing is left of the programs.
    const std::string left = co_await shell(lease, users_processes + "| grep -c -e sleep -e python3");
    EXPECT_EQ(left, "0\n");
    const std::string id = lease->id().value;
    lease.give_back();
    lease = co_await lend(manager);
    EXPECT_EQ(lease->id().value, id);
  });
}

// A handle that outlives its lease reports an error.
POOLS(ExecThatIsRunningWhenItsLeaseEnds_EndsAtOnce) {
  Profile forking = profile(1, 1);
  forking.zygotes.emplace_back();
  in_manager(with(forking), [](pool::Manager& manager) -> Task<> {
    for (const char* zygote : {"", "python"}) {
      pool::Lease lease = co_await lend(manager);
      const auto exec = co_await start_sleeper(lease, zygote);
      lease.give_back();
      const Error error = co_await end_of(*exec);
      EXPECT_EQ(error.code, ErrorCode::cancelled) << error.message;
    }
    pool::Lease lease = co_await lend(manager);
    ExecSpec spec = ExecSpec::shell("echo on; sleep 1000");
    spec.terminal = TerminalSize{};
    auto started = co_await lease.start(std::move(spec), Deadline::after(60s));
    auto said = co_await (*started)->next(Deadline::after(60s));
    EXPECT_TRUE(said);
    lease.give_back();
    const Error error = co_await end_of(**started);
    EXPECT_EQ(error.code, ErrorCode::cancelled) << error.message;
  });
}

// They are not read to the end. An agent has room for 512.
POOLS(ExecsThatAreDroppedWithTheirOutputUnread_AreForgottenByTheAgent) {
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("so many programs take gVisor minutes");
  in_manager(with(profile(1, 1)), [](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    for (int round = 0; round < 60; ++round) {
      std::vector<std::unique_ptr<Exec>> dropped;
      for (int i = 0; i < 10; ++i) {
        ExecSpec spec = ExecSpec::shell("exec head -c 2000000 /dev/zero");
        spec.keep_output = mib(16);
        auto started = co_await lease.start(std::move(spec), Deadline::after(60s));
        EXPECT_TRUE(started) << started.error().message;
        if (!started) co_return;
        dropped.push_back(std::move(*started));
      }
      // By then they have sent all that they may.
      const std::string said = co_await shell(lease, "sleep 0.05; echo well");
      EXPECT_EQ(said, "well\n") << "round " << round;
      if (said.empty()) co_return;
    }
  });
}

// Its output never ends by itself, and there is always more of it.
POOLS(SupervisorOfAFloodingProgramKilled_EndsTheExecAllTheSame) {
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("the host does not see gVisor's processes");
  in_manager(with(profile(1, 1)), [this](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    ExecSpec spec = ExecSpec::shell("(setsid yes no &) ; exec yes");
    spec.stop_output = mib(1 << 20);
    auto started = co_await lease.start(std::move(spec), Deadline::after(60s));
    EXPECT_TRUE(started) << started.error().message;
    if (!started) co_return;
    auto said = co_await (*started)->next(Deadline::after(60s));
    EXPECT_TRUE(said);
    for (const pid_t pid : supervisors_of(target(), lease->id().value)) ::kill(pid, SIGKILL);
    const Error error = co_await end_of(**started);
    EXPECT_THAT(error.message, HasSubstr("supervisor was lost"));
    const std::string left = co_await shell(lease, users_processes + "| grep -c yes");
    EXPECT_EQ(left, "0\n");
  });
}

POOLS(SupervisorOfABackgroundExecKilled_IsToldToWhoAttaches) {
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("the host does not see gVisor's processes");
  in_manager(with(profile(1, 1)), [this](pool::Manager& manager) -> Task<> {
    pool::Lease lease = co_await lend(manager);
    ExecSpec spec = ExecSpec::shell("echo on; sleep 1000");
    spec.lifetime = Lifetime::background;
    auto started = co_await lease.start(std::move(spec), Deadline::after(60s));
    EXPECT_TRUE(started) << started.error().message;
    if (!started) co_return;
    auto attached = co_await lease->attach((*started)->background_id(), LiveSandbox::AfterEnd::keep);
    EXPECT_TRUE(attached) << attached.error().message;
    for (const pid_t pid : supervisors_of(target(), lease->id().value)) ::kill(pid, SIGKILL);
    const Error error = co_await end_of(**attached);
    EXPECT_THAT(error.message, HasSubstr("supervisor was lost"));
  });
}

}  // namespace cloche
