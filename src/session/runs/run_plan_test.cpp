#include "session/runs/run_plan.hpp"

#include <gmock/gmock.h>

#include "session/runs/run_directory.hpp"

namespace cloche::session {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using namespace std::chrono_literals;

struct RunPlanTest : testing::Test {
  Result<RunPlan> plan(const RunRequest& request, Lifetime lifetime = Lifetime::foreground) {
    return plan_run({languages, profile, binding, "/bin/bash"}, request, lifetime);
  }
  static RunRequest code(std::string language, std::string text) {
    RunRequest request;
    request.what = Code{std::move(language), std::move(text)};
    return request;
  }

  LanguageRegistry languages = LanguageRegistry::create().value();
  Profile profile;
  pool::Binding binding{.env = {{"FROM", "session"}}, .work_dir = "/workspace"};
};

TEST_F(RunPlanTest, Code_IsInAPrivateDirectory_AndStartsInTheWorkspace) {
  const RunPlan made = plan(code("py", "print(1)")).value();
  ASSERT_TRUE(made.directory.starts_with("/tmp/"));
  EXPECT_TRUE(is_run_directory(made.directory.substr(5)));
  EXPECT_EQ(made.source_path, made.directory + "/main.py");
  EXPECT_EQ(made.source, "print(1)");
  // Something that saves figures stands between the two.
  EXPECT_THAT(made.run.argv, ElementsAre("python3", "-c", testing::_, made.source_path));
  EXPECT_TRUE(made.run.env.at("CLOCHE_FIGURES").starts_with("/workspace/figures/"));
  EXPECT_EQ(made.run.cwd, "/workspace");
  EXPECT_EQ(made.run.env.at("PYTHONPATH"), "/workspace");
  EXPECT_NE(plan(code("py", "print(1)"))->directory, made.directory);
}

TEST_F(RunPlanTest, ProfileWithTheZygote_ForksFromIt) {
  profile.zygotes.push_back({.name = "python"});
  const RunPlan made = plan(code("python", "")).value();
  EXPECT_EQ(made.run.zygote, "python");
  EXPECT_THAT(made.run.argv, ElementsAre(made.source_path));
}

TEST_F(RunPlanTest, CompiledCode_LeavesNothingInTheWorkspace) {
  const RunPlan made = plan(code("c", "int main(){}")).value();
  ASSERT_TRUE(made.compile);
  EXPECT_THAT(made.compile->argv, Contains(made.directory + "/main.out"));
  EXPECT_THAT(made.compile->argv, Contains(made.directory + "/main.c"));
  EXPECT_EQ(made.compile->cwd, "/workspace");
  EXPECT_THAT(made.run.argv, ElementsAre(made.directory + "/main.out"));
  EXPECT_EQ(made.owner, runner::CommandOwner::caller);
  const RunPlan java = plan(code("java", "public class Sum { public static void main(String[] a) {} }")).value();
  EXPECT_EQ(java.source_path, java.directory + "/Sum.java");
  EXPECT_THAT(java.run.argv, Contains(java.directory));
  EXPECT_EQ(java.owner, runner::CommandOwner::language);
}

TEST_F(RunPlanTest, ShortLine_IsAnArgument_LongOneGoesByAFile) {
  RunRequest request;
  request.what = ShellLine{std::string(131'071, 'x')};
  EXPECT_THAT(plan(request)->run.argv, ElementsAre("/bin/bash", "-c", std::string(131'071, 'x')));
  EXPECT_EQ(plan(request)->directory, "");
  const std::string line = "echo " + std::string(131'072, 'x');
  request.what = ShellLine{line};
  const RunPlan made = plan(request).value();
  EXPECT_EQ(made.source, line);
  EXPECT_EQ(made.source_path, made.directory + "/command");
  EXPECT_THAT(made.run.argv, ElementsAre("/bin/bash", "-c", "eval \"$(<'" + made.source_path + "')\""));
  EXPECT_EQ(made.run.cwd, "/workspace");
}

TEST_F(RunPlanTest, Pipefail_NeedsBash) {
  RunRequest request;
  request.what = ShellLine{"a | b", ShellLine::Pipes::any_failure};
  EXPECT_THAT(plan(request)->run.argv, ElementsAre("/bin/bash", "-o", "pipefail", "-c", "a | b"));
  const auto refused = plan_run({languages, profile, binding, "/bin/sh"}, request, Lifetime::foreground);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

TEST_F(RunPlanTest, WorkDir_IsBelowTheWorkspaceOrAbsolute) {
  RunRequest request;
  request.what = ShellLine{"pwd"};
  const auto start = [&](std::string path) {
    request.work_dir = std::move(path);
    const auto made = plan(request);
    if (!made) return made.error().message;
    return made->run.cwd + (made->start_in == RunPlan::StartIn::elsewhere ? " elsewhere" : "");
  };
  EXPECT_EQ(start("a/b/"), "/workspace/a/b");
  EXPECT_EQ(start("/workspace/a"), "/workspace/a");
  EXPECT_EQ(start("/workspace/"), "/workspace");
  EXPECT_EQ(start("/workspaces"), "/workspaces elsewhere");
  EXPECT_EQ(start("/tmp/"), "/tmp elsewhere");
  EXPECT_EQ(start("/"), "/ elsewhere");
  for (const char* bad : {"..", "a/../..", "/tmp/..", "/tmp//x", "//"}) {
    request.work_dir = bad;
    const auto refused = plan(request);
    EXPECT_TRUE(!refused || refused->run.cwd == "/") << bad;
    EXPECT_TRUE(refused || refused.error().code == ErrorCode::invalid_argument) << bad;
  }
}

TEST_F(RunPlanTest, LanguageThatDoesNotNameTheDirectory_StartsInIt) {
  Language perl;
  perl.name = "perl";
  perl.file = "main.pl";
  perl.run = {"perl", "{filename}"};
  const Steps steps = expand(perl, {.file = "main.pl"}).value();
  EXPECT_THAT(steps.run.argv, ElementsAre("perl", "main.pl"));
  EXPECT_FALSE(names_directory(perl));
  for (const auto& [name, language] : languages.all()) EXPECT_TRUE(names_directory(language)) << name;
}

TEST_F(RunPlanTest, Environment_OfTheRequestStandsOverTheSessionsAndThatOverTheLanguages) {
  RunRequest request = code("python", "");
  request.env = {{"FROM", "request"}, {"PYTHONPATH", "/opt/lib"}};
  binding.env["PYTHONUNBUFFERED"] = "";
  const RunPlan made = plan(request).value();
  EXPECT_THAT(made.run.env, Contains(Pair("FROM", "request")));
  EXPECT_THAT(made.run.env, Contains(Pair("PYTHONUNBUFFERED", "")));
  EXPECT_THAT(made.run.env, Contains(Pair("PYTHONDONTWRITEBYTECODE", "1")));
  EXPECT_THAT(made.run.env, Contains(Pair("PYTHONPATH", "/workspace:/opt/lib")));
}

TEST_F(RunPlanTest, ShellLine_IsOneArgument) {
  RunRequest request;
  request.what = ShellLine{"echo $HOME; rm -rf 'x'"};
  request.work_dir = "sub/dir/";
  const RunPlan made = plan(request).value();
  EXPECT_THAT(made.run.argv, ElementsAre("/bin/bash", "-c", "echo $HOME; rm -rf 'x'"));
  EXPECT_EQ(made.run.cwd, "/workspace/sub/dir");
  EXPECT_EQ(made.directory, "");
  EXPECT_EQ(made.owner, runner::CommandOwner::caller);
}

TEST_F(RunPlanTest, Timeout_IsTheRunsOrTheUsual) {
  EXPECT_EQ(plan(code("python", ""))->run.wall_limit, 120s);
  EXPECT_EQ(plan(code("python", ""), Lifetime::background)->run.wall_limit, 1h);
  RunRequest request = code("c", "");
  request.timeout = 7s;
  const RunPlan made = plan(request).value();
  EXPECT_EQ(made.run.wall_limit, 7s);
  EXPECT_EQ(made.compile->wall_limit, 30s);
}

TEST_F(RunPlanTest, Nonsense_IsRefused) {
  EXPECT_EQ(plan(code("klingon", "")).error().code, ErrorCode::invalid_argument);
  for (const std::string path : {"/tmp/../etc", "..", "a/../..", "a//b"}) {
    RunRequest request = code("python", "");
    request.work_dir = path;
    const auto refused = plan(request);
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(refused.error().message, HasSubstr("work_dir"));
  }
  RunRequest request = code("python", "");
  request.files["../x"] = "";
  EXPECT_EQ(plan(request).error().code, ErrorCode::invalid_argument);
  RunRequest with_input = code("python", "");
  with_input.input = "x";
  EXPECT_EQ(plan(with_input, Lifetime::background).error().code, ErrorCode::invalid_argument);
}

TEST_F(RunPlanTest, MissingToolchain_SaysWhatToInstall) {
  const RunPlan made = plan(code("python", "")).value();
  Outcome outcome;
  outcome.ending = Ending::not_started;
  outcome.exit_code = 127;
  const auto verdict = made.judge(runner::StepKind::run, outcome);
  EXPECT_EQ(verdict.category, Category::system_error);
  EXPECT_THAT(verdict.reason, HasSubstr("python3"));
}

}  // namespace
}  // namespace cloche::session
