// One-shot runs: the result's mapping, both levels of timeout, and that nothing runs outside of a sandbox unasked.
#include "runner/autograder/one_shot.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/async/task_group.hpp"
#include "runner/runner.hpp"
#include "support/read_text.hpp"

namespace cloche {

namespace {

OneShotRequest request_for(const Target& target, std::string code) {
  OneShotRequest request;
  request.image = testing_support::spec_for(target).image;
  request.command = "python3";
  request.arguments = {"/sandbox/script.py"};
  request.code_file = "script.py";
  request.code = std::move(code);
  return request;
}

OneShotOptions options_for(const Target& target) {
  OneShotOptions options;
  if (!target.runtime.empty()) options.runtime = target.runtime;
  return options;
}

LanguageRegistry languages() { return LanguageRegistry::create().value(); }

// The pid, as this host counts, of the process that is 1 in its own namespace and whose command line says this; 0:
// none.
pid_t find_first_process_beside(const std::string& marker) {
  std::string wanted;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string line = testing_support::read_text(entry.path() / "cmdline");
    std::error_code error;
    if (line.find(marker) != std::string::npos) wanted = std::filesystem::read_symlink(entry.path() / "ns/pid", error);
  }
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code error;
    if (wanted.empty() || std::filesystem::read_symlink(entry.path() / "ns/pid", error) != wanted) continue;
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("NSpid:") && line.ends_with("\t1")) return std::stoi(pid);
    }
  }
  return 0;
}

}  // namespace

RUNNER(OneShot_MapsResultsAndLeavesNoSandbox) {
  if (fake_has_no("runtimes")) return;
  run([this]() -> Task<> {
    runner::OneShot one_shot(*backend_, nullptr, languages(), options_for(target()));
    OneShotRequest adds = request_for(target(), "print(' ', int(input()) + int(input()), ' ')");
    adds.input = {"5", "3"};
    auto ran = co_await one_shot.run(adds);
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(ran && ran->success && ran->output == "8" && ran->error.empty() && ran->sandboxed);
    OneShotRequest raises = request_for(target(), "print('out'); raise ValueError('oh')");
    ran = co_await one_shot.run(raises);
    EXPECT_TRUE(ran && !ran->success && !ran->timed_out && ran->output.empty());
    EXPECT_THAT(ran->error, HasSubstr("ValueError: oh"));
    OneShotRequest silent = request_for(target(), "print('only out'); raise SystemExit(2)");
    ran = co_await one_shot.run(silent);
    EXPECT_EQ(ran->error, "only out");
    OneShotRequest large = request_for(target(), "x = b'x' * (1 << 30)");
    ran = co_await one_shot.run(large);
    EXPECT_EQ(ran->cause, Cause::memory) << ran->error;
    OneShotRequest loops = request_for(target(), "while True: pass");
    loops.timeout = 1s;
    ran = co_await one_shot.run(loops);
    EXPECT_TRUE(ran->timed_out);
    EXPECT_EQ(ran->error, "Execution timed out");
    auto left = co_await backend_->recover(Deadline::after(60s));
    EXPECT_TRUE(left && left->empty());
  });
}

RUNNER(OneShot_SandboxThatDoesNotAnswer_IsGivenUpAfterTheOuterTimeout) {
  if (fake_has_no("process of its own to stop")) return;
  run([this]() -> Task<> {
    runner::OneShot one_shot(*backend_, nullptr, languages(), options_for(target()));
    const std::string marker = "cloche-outer-" + scratch_.path().filename().string();
    OneShotRequest sleeps = request_for(target(), "import time\ntime.sleep(1000)");
    sleeps.arguments.push_back(marker);
    sleeps.timeout = 3s;
    TaskGroup others(io_.get_executor());
    others.spawn("stop the agent", [&marker]() -> Task<> {
      const Deadline patience = Deadline::after(60s);
      pid_t agent = 0;
      while (agent == 0 && !patience.passed()) {
        co_await pause_for(50ms);
        agent = find_first_process_beside(marker);
      }
      EXPECT_GT(agent, 0);
      const bool stopped = agent > 0 && ::kill(agent, SIGSTOP) == 0;
      EXPECT_TRUE(stopped);
    });
    const auto began = std::chrono::steady_clock::now();
    auto ran = co_await one_shot.run(sleeps);
    const auto took = std::chrono::steady_clock::now() - began;
    co_await others.join();
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(ran && ran->timed_out && !ran->success);
    EXPECT_TRUE(ran && ran->error == "Execution timed out");
    EXPECT_TRUE(ran && ran->cause == Cause::lost) << "the inner timeout was not the one that ended it";
    EXPECT_GT(took, 18s);
    EXPECT_LT(took, 60s);
    auto left = co_await backend_->recover(Deadline::after(60s));
    EXPECT_TRUE(left && left->empty());
  });
}

RUNNER(OneShot_ConcurrentRunsReadTheirOwnInput) {
  if (fake_has_no("runtimes")) return;
  run([this]() -> Task<> {
    runner::OneShot one_shot(*backend_, nullptr, languages(), options_for(target()));
    TaskGroup runs(io_.get_executor());
    int right = 0;
    for (int i = 0; i < 4; ++i) {
      runs.spawn("one shot", [&, i]() -> Task<> {
        OneShotRequest echo = request_for(target(), "print(input())");
        echo.timeout = 30s;
        echo.input = {"mine " + std::to_string(i)};
        const std::string expected = echo.input.front();
        auto ran = co_await one_shot.run(echo);
        EXPECT_TRUE(ran) << ran.error().message;
        if (ran && ran->output == expected) ++right;
      });
    }
    co_await runs.join();
    EXPECT_EQ(right, 4);
  });
}

RUNNER(OneShot_LanguagesRunInTheirPoolAndTheirSandboxIsDestroyed) {
  in_manager(options(1, 1), [this](pool::Manager& manager) -> Task<> {
    runner::OneShot one_shot(*backend_, &manager, languages(), options_for(target()));
    for (int i = 0; i < 2; ++i) {
      OneShotCode code;
      code.language = "PYTHON";
      code.code = "import os\nprint(os.listdir('.'))";
      code.cpus = 1;  // as the pool's, so that every backend can do it
      auto ran = co_await one_shot.run_code(code);
      EXPECT_TRUE(ran) << ran.error().message;
      EXPECT_TRUE(ran && ran->success && ran->output == "['main.py']") << ran->error;
    }
    EXPECT_EQ(manager.stats().at("box").resets, 0u);
    EXPECT_GE(manager.stats().at("box").created, 2u);
    OneShotCode unknown;
    unknown.language = "Cobol";
    auto refused = co_await one_shot.run_code(unknown);
    EXPECT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("The programming language 'Cobol' is not currently supported."));
  });
}

RUNNER(OneShot_CompiledLanguage_SaysWhatTheCompilerSaid) {
  if (fake_has_no("limits") || lacks("gcc")) return;
  in_manager(options(), [this](pool::Manager& manager) -> Task<> {
    runner::OneShot one_shot(*backend_, &manager, languages(), options_for(target()));
    OneShotCode good;
    good.language = "C";
    good.code = "#include <stdio.h>\nint main(void) { int a, b; scanf(\"%d%d\", &a, &b); printf(\"%d\\n\", a * b); }\n";
    good.input = {"6", "7"};
    auto ran = co_await one_shot.run_code(good);
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(ran && ran->output == "42");
    OneShotCode bad;
    bad.language = "c";
    bad.code = "int main(void) { return wrong; }\n";
    ran = co_await one_shot.run_code(bad);
    EXPECT_TRUE(ran && ran->category == Category::compilation_error);
    EXPECT_TRUE(ran && ran->error.find("wrong") != std::string::npos);
  });
}

RUNNER(OneShot_LanguageWithoutASandbox_IsRefusedUnlessTheHostIsAllowed) {
  if (target().backend != "docker") {
    [] { CLOCHE_DOES_NOT_APPLY("this backend makes a sandbox for every language"); }();
    return;
  }
  auto changed = config::parse_yaml("bash: {image: \"\"}", "test.yml");
  ASSERT_TRUE(changed) << changed.error().message;
  const auto registry = LanguageRegistry::create(config::Part{"test.yml", "", std::move(*changed), 1});
  ASSERT_TRUE(registry) << registry.error().message;
  run([&]() -> Task<> {
    OneShotCode code;
    code.language = "bash";
    code.code = "id -u; read line; echo $line";
    code.input = {"said"};
    runner::OneShot careful(*backend_, nullptr, *registry, options_for(target()));
    auto refused = co_await careful.run_code(code);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("allow_unsandboxed"));
    OneShotOptions daring = options_for(target());
    daring.allow_unsandboxed = true;
    runner::OneShot careless(*backend_, nullptr, *registry, daring);
    auto ran = co_await careless.run_code(code);
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(ran && !ran->sandboxed && !ran->warning.empty());
    EXPECT_TRUE(ran && ran->output == "65534\nsaid") << ran->error;
  });
}

}  // namespace cloche
