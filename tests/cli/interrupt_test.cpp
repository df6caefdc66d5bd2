// A `cloche run` that is stopped or killed leaves nothing behind.
#include <sys/wait.h>

#include <csignal>

#include "cli/cli.hpp"

namespace cloche {
namespace {

using testing::IsEmpty;
using testing::Not;

class CliInterrupted : public CliOn {
 protected:
  // Starts a program that sleeps; returns once it runs.
  std::unique_ptr<Command> start_sleeper() {
    const std::string file = source("sleep.sh", "echo ready; sleep 1000");
    auto command = std::make_unique<Command>(cloche_run(GetParam(), {"--timeout", "600", file}));
    EXPECT_TRUE(command->wait_for("ready\n")) << command->finish(std::chrono::seconds(1)).err;
    return command;
  }
};

TEST_P(CliInterrupted, ByASignal_LeavesNothingAndSaysWhich) {
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, {SIGTERM, 143}, {SIGHUP, 129}}) {
    const auto command = start_sleeper();
    const std::string id = instance(GetParam());
    EXPECT_THAT(traces_of(GetParam(), id), Not(IsEmpty())) << "there is something to be removed";
    command->signal(signal);
    EXPECT_EQ(command->finish().exit_code, code);
    EXPECT_THAT(traces_of(GetParam(), id), IsEmpty());
    EXPECT_EQ(instance(GetParam()), "");
  }
}

TEST_P(CliInterrupted, WhileNobodyReadsItsOutput_EndsAllTheSame) {
  const std::string file = source("flood.sh", "echo ready; yes");
  Command command(cloche_run(GetParam(), {"--timeout", "600", file}));
  ASSERT_TRUE(command.wait_for("ready\n"));
  const std::string id = instance(GetParam());
  command.signal(SIGTERM);
  // The pipe is full and is not read until the command has ended.
  siginfo_t info;
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(command.pid()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(command.finish().exit_code, 143);
  EXPECT_THAT(traces_of(GetParam(), id), IsEmpty());
}

TEST_P(CliInterrupted, Killed_ItsSandboxIsRemovedByTheNextCommand) {
  const auto command = start_sleeper();
  const std::string id = instance(GetParam());
  command->signal(SIGKILL);
  EXPECT_EQ(command->finish().exit_code, 137);
  EXPECT_THAT(traces_of(GetParam(), id), Not(IsEmpty())) << "nobody was there to remove it";
  const CommandEnd next = run_command(cloche_run(GetParam(), {source("next.sh", "echo next")}));
  EXPECT_EQ(next.out, "next\n") << next.err;
  EXPECT_THAT(traces_of(GetParam(), id), IsEmpty());
  EXPECT_EQ(instance(GetParam()), "");
}

TEST_P(CliInterrupted, Killed_DoctorOfAnotherRunDirectoryShowsAndRemovesWhatItLeft) {
  const auto command = start_sleeper();
  const std::string id = instance(GetParam());
  const std::vector<std::string> doctor = {"doctor",  "--json", "--run-dir", scratch_.path() / "elsewhere",
                                           "--owner", id};
  const auto ask = [&](const std::string& what) {
    std::vector<std::string> arguments = doctor;
    arguments.push_back(what);
    const CommandEnd end = run_command(cloche(arguments));
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return parse_json(end.out);
  };
  EXPECT_THAT(ask("--remove-abandoned").as_array(), IsEmpty()) << "its process lives";
  command->signal(SIGKILL);
  EXPECT_EQ(command->finish().exit_code, 137);
  const auto shown = ask("--abandoned");
  ASSERT_EQ(shown.as_array().size(), 1u);
  EXPECT_EQ(shown.at(0).at("state").as_string(), "abandoned");
  EXPECT_FALSE(shown.at(0).at("things").as_array().empty());
  EXPECT_THAT(traces_of(GetParam(), id), Not(IsEmpty())) << "it was only looked at";
  const auto removed = ask("--remove-abandoned");
  ASSERT_EQ(removed.as_array().size(), 1u);
  EXPECT_TRUE(removed.at(0).at("removed").as_bool()) << removed;
  EXPECT_THAT(traces_of(GetParam(), id), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Backends, CliInterrupted,
                         testing::Values(Target{"oci", "crun"}, Target{"oci", "runsc"}, Target{"docker", "runc"}),
                         [](const auto& target) { return target.param.name(); });

}  // namespace
}  // namespace cloche
