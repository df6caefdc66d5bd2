#include "runner/judge/verdict.hpp"

#include <gmock/gmock.h>

#include <csignal>

namespace cloche::runner {
namespace {

using testing::HasSubstr;

Outcome ended(Ending ending, int exit_code = 0, std::uint64_t oom_kills = 0) {
  Outcome outcome;
  outcome.ending = ending;
  outcome.exit_code = exit_code;
  outcome.oom_kills = oom_kills;
  return outcome;
}

struct Row {
  StepKind step;
  CommandOwner owner;
  Outcome outcome;
  Category category;
  Cause cause;
};

TEST(JudgeStep, EveryEnding_HasItsCategoryAndCause) {
  using enum Category;
  constexpr auto run = StepKind::run;
  constexpr auto compile = StepKind::compile;
  constexpr auto ours = CommandOwner::language;
  constexpr auto theirs = CommandOwner::caller;
  const Row rows[] = {
      {run, ours, ended(Ending::exited), success, Cause::none},
      {run, ours, ended(Ending::exited, 1), runtime_error, Cause::exit_code},
      {run, ours, ended(Ending::exited, 1, 1), runtime_error, Cause::memory},
      {run, ours, ended(Ending::exited, 0, 1), success, Cause::none},
      {run, ours, ended(Ending::signalled, 139), runtime_error, Cause::signal},
      {run, ours, ended(Ending::wall_limit, 137), timeout, Cause::wall},
      {run, ours, ended(Ending::cpu_limit, 137), timeout, Cause::cpu},
      {run, ours, ended(Ending::memory_limit, 137, 1), runtime_error, Cause::memory},
      {run, ours, ended(Ending::output_limit, 137), runtime_error, Cause::output},
      {run, ours, ended(Ending::not_started, 127), system_error, Cause::not_started},
      {run, theirs, ended(Ending::not_started, 127), runtime_error, Cause::not_started},
      {compile, ours, ended(Ending::exited), success, Cause::none},
      {compile, ours, ended(Ending::exited, 1), compilation_error, Cause::exit_code},
      {compile, ours, ended(Ending::exited, 1, 2), compilation_error, Cause::memory},
      {compile, ours, ended(Ending::wall_limit, 137), compilation_error, Cause::wall},
      {compile, ours, ended(Ending::output_limit, 137), compilation_error, Cause::output},
      {compile, ours, ended(Ending::not_started, 127), system_error, Cause::not_started},
  };
  for (const Row& row : rows) {
    const Verdict verdict = judge_step(row.step, row.owner, row.outcome);
    EXPECT_EQ(to_string(verdict.category), to_string(row.category)) << verdict.reason;
    EXPECT_EQ(to_string(verdict.cause), to_string(row.cause)) << verdict.reason;
    EXPECT_EQ(verdict.reason.empty(), verdict.passed());
  }
}

TEST(JudgeByProgram, ExitCode_DecidesAndAnythingElseIsItsOwnFailure) {
  EXPECT_TRUE(judge_by_program("checker", ended(Ending::exited), "fine").passed());
  const Verdict wrong = judge_by_program("checker", ended(Ending::exited, 1), "too\nsmall\n");
  EXPECT_EQ(wrong.category, Category::success);
  EXPECT_EQ(wrong.cause, Cause::wrong_answer);
  EXPECT_EQ(wrong.reason, "too\nsmall");
  for (const Outcome& odd : {ended(Ending::exited, 2), ended(Ending::signalled, 139), ended(Ending::wall_limit, 137),
                             ended(Ending::exited, 1, 1), ended(Ending::memory_limit, 137, 1)}) {
    const Verdict broken = judge_by_program("checker", odd, "words");
    EXPECT_EQ(broken.category, Category::system_error);
    EXPECT_EQ(broken.cause, Cause::checker);
    EXPECT_THAT(broken.reason, HasSubstr("the checker"));
    EXPECT_THAT(broken.reason, HasSubstr("words"));
  }
}

TEST(InputLines, EachLine_HasItsEnd) {
  EXPECT_EQ(input_lines({"5", "", "-n \\t"}), "5\n\n-n \\t\n");
  EXPECT_EQ(input_lines({}), "");
}

}  // namespace
}  // namespace cloche::runner
