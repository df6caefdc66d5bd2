#include "runner/program_plan.hpp"

#include <gmock/gmock.h>

#include "runner/language_registry.hpp"

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
