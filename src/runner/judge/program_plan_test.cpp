#include "runner/judge/program_plan.hpp"

#include <gmock/gmock.h>

#include "language/language_registry.hpp"

namespace cloche::runner {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_literals;

Language language(std::string_view name) {
  static const auto registry = LanguageRegistry::create().value();
  return registry.find(name).value();
}

ProgramPlan plan(std::string_view name, Program program) {
  auto made = plan_program(language(name), std::move(program));
  EXPECT_TRUE(made) << made.error().message;
  return made.value_or(ProgramPlan());
}

TEST(PlanProgram, SourceText_IsNamedAsTheLanguageWants) {
  const ProgramPlan python = plan("python", {.source = "print(1)", .arguments = {"a b"}});
  EXPECT_EQ(python.files.at("main.py"), "print(1)");
  EXPECT_FALSE(python.compile);
  EXPECT_THAT(python.run.argv, ElementsAre("python3", "main.py", "a b"));
  EXPECT_THAT(python.zygote_argv, ElementsAre("main.py", "a b"));
  EXPECT_EQ(python.owner, CommandOwner::language);
  const ProgramPlan java = plan("java", {.source = "public class Sum { public static void main(String[] a) {} }"});
  EXPECT_TRUE(java.files.contains("Sum.java"));
  EXPECT_THAT(java.run.argv, Contains("Sum"));
}

TEST(PlanProgram, EmptySource_IsAnEmptyFile) { EXPECT_EQ(plan("python", {}).files.at("main.py"), ""); }

TEST(PlanProgram, CompiledProgram_IsTheCallersToFail) {
  EXPECT_EQ(plan("c", {.source = "int main(){}"}).owner, CommandOwner::caller);
}

TEST(PlanProgram, Tree_FindsItsMainFile) {
  EXPECT_THAT(plan("python", {.files = {{"util.py", ""}, {"main.py", ""}}}).run.argv, Contains("main.py"));
  EXPECT_THAT(plan("python", {.files = {{"hello.py", ""}, {"data.txt", ""}}}).run.argv, Contains("hello.py"));
  EXPECT_THAT(plan("python", {.files = {{"start.py", ""}, {"lib/x.py", ""}}}).run.argv, Contains("start.py"));
  EXPECT_THAT(plan("javascript", {.files = {{"index.js", ""}, {"a.js", ""}}}).run.argv, Contains("index.js"));
  EXPECT_THAT(plan("python", {.files = {{"src/main.py", ""}, {"src/x.py", ""}}}).run.argv, Contains("src/main.py"));
}

TEST(PlanProgram, JavaTree_FindsTheClassWithMainInItsPackage) {
  const ProgramPlan java = plan(
      "java",
      {.files = {{"com/x/Start.java", "package com.x;\npublic class Start { public static void main(String[] a) {} }"},
                 {"com/x/Help.java", "package com.x;\npublic class Help {}"}}});
  ASSERT_TRUE(java.compile);
  EXPECT_THAT(java.compile->argv, Contains("com/x/Start.java"));
  EXPECT_THAT(java.run.argv, Contains("com.x.Start"));
}

TEST(PlanProgram, CppTree_NamesEverySourceAndNoHeader) {
  const ProgramPlan cpp =
      plan("cpp", {.files = {{"main.cpp", ""}, {"-o.cpp", ""}, {"lib/a.cpp", ""}, {"lib/a.hpp", ""}}});
  ASSERT_TRUE(cpp.compile);
  const auto& argv = cpp.compile->argv;
  EXPECT_THAT(std::vector(argv.end() - 3, argv.end()), ElementsAre("main.cpp", "./-o.cpp", "./lib/a.cpp"));
}

TEST(PlanProgram, MainFileThatCannotBeTold_IsRefusedUnlessACommandSaysIt) {
  const Program two{.files = {{"a.py", ""}, {"b.py", ""}}};
  auto refused = plan_program(language("python"), two);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("main.py"));
  Program told = two;
  told.command = "python3 b.py";
  EXPECT_THAT(plan("python", told).run.argv, ElementsAre("python3", "b.py"));
}

TEST(PlanProgram, Command_IsSplitAndReplacesTheLanguagesOwn) {
  const ProgramPlan own = plan("python", {.source = "x", .command = "python3 -u 'main.py' x", .arguments = {"y"}});
  EXPECT_THAT(own.run.argv, ElementsAre("python3", "-u", "main.py", "x", "y"));
  EXPECT_EQ(own.owner, CommandOwner::caller);
  EXPECT_EQ(own.zygote, "");
  EXPECT_THAT(plan("python", {.source = "x", .command = "CMD"}).run.argv, ElementsAre("python3", "main.py"));
  EXPECT_THAT(plan("cpp", {.source = "x", .command = "./a.out 3"}).run.argv, ElementsAre("./main.out", "3"));
  EXPECT_FALSE(plan_program(language("python"), {.source = "x", .command = "  "}));
}

TEST(PlanProgram, Limits_OfTheProgramStandOverTheLanguages) {
  Program program{.source = "x"};
  program.run_limits.memory = mib(99);
  program.compile_limits.wall = std::chrono::seconds(3);
  const ProgramPlan c = plan("c", program);
  EXPECT_EQ(c.run.limits.memory, mib(99));
  EXPECT_EQ(c.run.limits.wall, std::chrono::seconds(10));
  EXPECT_EQ(c.compile->limits.wall, std::chrono::seconds(3));
  EXPECT_EQ(c.compile->limits.memory, mib(256));
}

TEST(PlanProgram, CommandAlone_IsAllThatIsRun) {
  Program program{.files = {{"a.c", "int main() {}"}, {"b.c", "int main() {}"}}};
  program.command = "sh -c 'gcc b.c -o b && ./b'";
  program.command_alone = true;
  const ProgramPlan c = plan("c", program);
  EXPECT_FALSE(c.compile);
  EXPECT_THAT(c.run.argv, ElementsAre("sh", "-c", "gcc b.c -o b && ./b"));
  EXPECT_EQ(c.owner, CommandOwner::caller);
  EXPECT_EQ(c.files.size(), 2u);
  EXPECT_EQ(c.run.limits.memory, mib(256)) << "as much as compiling needs";
  program.command = "./a.out";
  EXPECT_THAT(plan("c", program).run.argv, ElementsAre("./a.out"));
  program.command = "CMD";
  EXPECT_FALSE(plan_program(language("c"), program)) << "the language's own needs its main file";
  const Program source{.source = "class A { void main() {} }", .command = "javac A.java", .command_alone = true};
  EXPECT_TRUE(plan("java", source).files.contains("A.java"));
}

TEST(PlanProgram, LimitsOfAProfilesConfiguration_StandOverTheLanguagesOwn) {
  LimitOverrides profile;
  profile.memory = mib(8192);
  const ProgramPlan c = *plan_program(language("c"), {.source = "x"}, profile);
  EXPECT_EQ(c.run.limits.memory, std::nullopt) << "the sandbox's own";
  EXPECT_EQ(c.compile->limits.memory, std::nullopt);
  EXPECT_EQ(plan_program(language("java"), {.source = "class A {}"}, profile)->run.limits.pids, 128u)
      << "not said there";
  // What the caller or the configuration of the language sets takes precedence over both.
  Program asks{.source = "x"};
  asks.run_limits.memory = mib(99);
  EXPECT_EQ(plan_program(language("c"), asks, profile)->run.limits.memory, mib(99));
  Language configured = language("c");
  configured.run_limits_set.memory = configured.run_limits.memory = mib(64);
  const ProgramPlan both = *plan_program(configured, {.source = "x"}, profile);
  EXPECT_EQ(both.run.limits.memory, mib(64));
  EXPECT_EQ(both.compile->limits.memory, std::nullopt);
  Program alone{.source = "x", .command = "true", .command_alone = true};
  EXPECT_EQ(plan_program(language("c"), alone, profile)->run.limits.memory, std::nullopt);
}

TEST(PlanProgram, PathsThatLeaveTheWorkDirectory_AreRefused) {
  const std::string with_nul("a\0b", 3);
  for (const std::string& path : {"../x.py"s, "/etc/x"s, "a/../../x"s, ""s, "a//b"s, "./a"s, "a/"s, with_nul}) {
    Program program{.source = "x"};
    program.files[path] = "";
    const auto refused = plan_program(language("python"), program);
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_TRUE(validate_tree({{"a/..b/c..", ""}, {".hidden", ""}}));
}

TEST(PlanProgram, SourceAndFileOfTheSameName_AreRefused) {
  EXPECT_FALSE(plan_program(language("python"), {.source = "x", .files = {{"main.py", "y"}}}));
}

}  // namespace
}  // namespace cloche::runner
