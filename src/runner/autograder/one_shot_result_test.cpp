#include "runner/autograder/one_shot_result.hpp"

#include <gmock/gmock.h>

namespace cloche::runner {
namespace {

using testing::HasSubstr;

Exec::Collected ended(Ending ending, int exit_code, std::string out, std::string err) {
  Exec::Collected ran;
  ran.outcome.ending = ending;
  ran.outcome.exit_code = exit_code;
  ran.out = std::move(out);
  ran.err = std::move(err);
  return ran;
}

TEST(OneShotResult, Success_HasTrimmedOutputAndNoError) {
  const auto result = to_one_shot_result(StepKind::run, ended(Ending::exited, 0, " 42 \n\n", "warning\n"));
  EXPECT_TRUE(result.success);
  EXPECT_EQ(result.output, "42");
  EXPECT_EQ(result.error, "");
  EXPECT_FALSE(result.timed_out);
}

TEST(OneShotResult, Failure_HasStderrOrElseStdout) {
  const auto with_err = to_one_shot_result(StepKind::run, ended(Ending::exited, 1, "out", "\nerr\n"));
  EXPECT_FALSE(with_err.success);
  EXPECT_EQ(with_err.output, "");
  EXPECT_EQ(with_err.error, "err");
  EXPECT_EQ(to_one_shot_result(StepKind::run, ended(Ending::exited, 1, "out\n", " \n")).error, "out");
  EXPECT_THAT(to_one_shot_result(StepKind::run, ended(Ending::exited, 3, "", "")).error, HasSubstr("exit code 3"));
}

TEST(OneShotResult, Timeout_SaysSoWhateverWasPrinted) {
  const auto result = to_one_shot_result(StepKind::run, ended(Ending::wall_limit, 137, "out", "err"));
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.error, "Execution timed out");
  EXPECT_TRUE(given_up().timed_out);
  EXPECT_EQ(given_up().error, "Execution timed out");
}

TEST(OneShotResult, MemoryAndCompileErrors_AreToldApart) {
  Exec::Collected killed = ended(Ending::memory_limit, 137, "", "some\n");
  killed.outcome.oom_kills = 1;
  const auto memory = to_one_shot_result(StepKind::run, killed);
  EXPECT_EQ(memory.cause, Cause::memory);
  EXPECT_EQ(memory.error, "some\nthe program used more memory than allowed");
  const auto compile = to_one_shot_result(StepKind::compile, ended(Ending::exited, 1, "", "main.c:1: error"));
  EXPECT_EQ(compile.category, Category::compilation_error);
  EXPECT_EQ(compile.error, "main.c:1: error");
}

TEST(JoinedLines, NewlinesStandBetween) {
  EXPECT_EQ(joined_lines({"a", "", "b"}), "a\n\nb");
  EXPECT_EQ(joined_lines({}), "");
}

}  // namespace
}  // namespace cloche::runner
