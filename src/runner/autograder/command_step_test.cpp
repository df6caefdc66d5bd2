// What counts as compiling for a command of the caller.
#include "runner/autograder/command_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::runner {
namespace {

using testing::Contains;
using testing::Not;

const std::vector<std::string>& compilers() {
  static const std::vector<std::string> all = compilers_of(*LanguageRegistry::create());
  return all;
}

TEST(Compilers, AreThoseThatDoNothingElse) {
  for (const char* name : {"gcc", "g++", "javac"}) EXPECT_THAT(compilers(), Contains(name));
  for (const char* name : {"python3", "node", "java", "dotnet"}) EXPECT_THAT(compilers(), Not(Contains(name)));
}

struct CommandRow {
  std::vector<std::string> argv;
  std::string err;
  StepKind step;
};

constexpr const char* gcc_says = "main.c: In function 'main':\nmain.c:1:20: error: 'N' undeclared\n";

TEST(StepOf, CommandAndComplaint_TellCompilingFromRunning) {
  const std::string both = "gcc main.c -o main && ./main";
  const CommandRow rows[] = {
      {{"gcc", "main.c"}, "", StepKind::compile},
      {{"/usr/bin/g++", "main.cpp"}, "", StepKind::compile},
      {{"python3", "main.py"}, "main.py:1: error: no", StepKind::run},
      {{"sh", "-c", both}, gcc_says, StepKind::compile},
      {{"/bin/bash", "-ec", "cd src; CFLAGS=-O2 " + both}, gcc_says, StepKind::compile},
      {{"sh", "-c", "javac Main.java && java Main"}, "error: file not found: Main.java\n", StepKind::compile},
      {{"sh", "-c", "gcc a.c && ./a.out"}, "collect2: error: ld returned 1 exit status\n", StepKind::compile},
      // The compiler was content, and the program failed.
      {{"sh", "-c", both}, "Segmentation fault\n", StepKind::run},
      {{"sh", "-c", both}, "", StepKind::run},
      {{"sh", "-c", "javac Main.java && java Main"},
       "Exception in thread \"main\" java.lang.Error: no\n",
       StepKind::run},
      // No compiler is called, whatever is printed.
      {{"sh", "-c", "echo gcc; exit 1"}, gcc_says, StepKind::run},
      {{"sh", "-c", "python3 gcc"}, gcc_says, StepKind::run},
      {{"sh", "main.sh", both}, gcc_says, StepKind::run},
      {{}, gcc_says, StepKind::run},
  };
  for (const CommandRow& row : rows) {
    EXPECT_EQ(step_of(compilers(), row.argv, row.err), row.step) << testing::PrintToString(row.argv) << row.err;
  }
  EXPECT_EQ(step_of({}, {"gcc"}, gcc_says), StepKind::run);
}

TEST(ForcedEnd, IsSaidBehindWhatWasPrinted) {
  using namespace std::chrono_literals;
  std::string err = "half a line";
  add_forced_end_message(err, Cause::wall, {}, 30s);
  EXPECT_EQ(err, "half a line\nExecution timed out after 30 seconds");
  err.clear();
  add_forced_end_message(err, Cause::wall, {}, 1500ms);
  EXPECT_EQ(err, "Execution timed out after 1.5 seconds");
  err = "x\n";
  add_forced_end_message(err, Cause::memory, {}, 1s);
  EXPECT_EQ(err, "x\nKilled: the memory limit was exceeded");
  err = "x\n";
  add_forced_end_message(err, Cause::exit_code, {}, 1s);
  EXPECT_EQ(err, "x\n");
}

}  // namespace
}  // namespace cloche::runner
