#include "sandbox/classify.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace cloche {
namespace {

wire::ExecEnded signalled(int signal) {
  return {.end = wire::EndKind::signalled, .signal = static_cast<std::uint32_t>(signal)};
}

TEST(Classify, ExitCode_IsExited) {
  const auto outcome = classify({.exit_code = 3}, 0);
  EXPECT_EQ(outcome.ending, Ending::exited);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_FALSE(outcome.success());
}

TEST(Classify, KilledWithOomCount_IsMemoryLimit) {
  EXPECT_EQ(classify(signalled(SIGKILL), 1).ending, Ending::memory_limit);
}

TEST(Classify, KilledWithoutOomCount_IsItsOwnDoing) {
  const auto outcome = classify(signalled(SIGKILL), 0);
  EXPECT_EQ(outcome.ending, Ending::signalled);
  EXPECT_EQ(outcome.exit_code, 137);
}

TEST(Classify, ShellWhoseChildWasKilledForMemory_IsMemoryLimit) {
  EXPECT_EQ(classify({.exit_code = 137}, 1).ending, Ending::memory_limit);
  EXPECT_EQ(classify({.exit_code = 137}, 0).ending, Ending::exited);
}

TEST(Classify, ExitedZeroThoughAChildWasKilledForMemory_IsSuccess) {
  const auto outcome = classify({.exit_code = 0}, 2);
  EXPECT_TRUE(outcome.success());
  EXPECT_EQ(outcome.oom_kills, 2u);
}

TEST(Classify, StoppedByALimit_SaysWhichWhateverTheSignal) {
  auto ended = signalled(SIGKILL);
  ended.stopped = wire::StopReason::wall;
  EXPECT_EQ(classify(ended, 1).ending, Ending::wall_limit);
  ended.stopped = wire::StopReason::cpu;
  EXPECT_EQ(classify(ended, 0).ending, Ending::cpu_limit);
  ended.stopped = wire::StopReason::output;
  EXPECT_EQ(classify(ended, 0).ending, Ending::output_limit);
}

TEST(Classify, KilledWithItsSandbox_HasTheSandboxesPeak) {
  const auto outcome = killed_with_sandbox(std::chrono::milliseconds(5), 2, mib(64));
  EXPECT_EQ(outcome.ending, Ending::memory_limit);
  EXPECT_EQ(outcome.peak_memory, mib(64));
  EXPECT_EQ(killed_with_sandbox({}, 1, std::nullopt).peak_memory, Bytes{});
}

TEST(Classify, MissingProgram_IsNotStartedAs127) {
  const auto outcome =
      classify({.end = wire::EndKind::not_started, .error = ENOENT, .failed_step = "execute python"}, 0);
  EXPECT_EQ(outcome.ending, Ending::not_started);
  EXPECT_EQ(outcome.exit_code, 127);
  EXPECT_EQ(outcome.reason, "python: command not found");
  const auto reason_of = [](int error, std::string step) {
    return classify({.end = wire::EndKind::not_started,
                     .error = static_cast<std::uint32_t>(error),
                     .failed_step = std::move(step)},
                    0)
        .reason;
  };
  EXPECT_EQ(reason_of(ENOENT, "execute ./a.out"), "./a.out: No such file or directory");
  EXPECT_EQ(reason_of(EACCES, "execute ./a.out"), "./a.out: Permission denied");
  EXPECT_EQ(reason_of(EACCES, "execute main.py"), "main.py: Permission denied");
  EXPECT_EQ(reason_of(ENOENT, "enter the work directory"), "enter the work directory: No such file or directory");
}

TEST(Classify, ProgramWithoutPermission_IsNotStartedAs126) {
  EXPECT_EQ(classify({.end = wire::EndKind::not_started, .error = EACCES, .failed_step = "execute"}, 0).exit_code, 126);
}

}  // namespace
}  // namespace cloche
