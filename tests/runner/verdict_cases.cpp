// One verdict for each way to end, from what happened and never from what was printed.
#include <csignal>

#include "runner/runner.hpp"

namespace cloche {

namespace {

// What a machine that is in order judges well.
const Submission answer = python("print(42)");

}  // namespace

RUNNER(Hello_IsASuccessWithItsFigures) {
  const Report report = judge(python("print('hello')"));
  EXPECT_EQ(said(report), "success") << report.reason;
  EXPECT_FALSE(report.compile.ran);
  ASSERT_EQ(report.cases.size(), 1u);
  const CaseReport& one = report.cases[0];
  EXPECT_EQ(one.out, "hello\n");
  EXPECT_EQ(one.err, "");
  EXPECT_GT(one.outcome.wall, 1ms);
  EXPECT_GT(one.outcome.cpu(), 1ms);
  EXPECT_GT(one.outcome.peak_memory, mib(1));
}

RUNNER(RunsThatFail_HaveTheVerdictOfWhatHappened) {
  struct Row {
    const char* source;
    const char* verdict;
  };
  // The words in stderr are bait.
  const Row rows[] = {
      {"import sys; sys.exit(1)", "runtime_error/exit_code"},
      {"raise ValueError('compilation failed: error: timeout, Killed')", "runtime_error/exit_code"},
      {"import sys; print('error: Execution timed out', file=sys.stderr)", "success"},
      {"import os; os.kill(os.getpid(), 11)", "runtime_error/signal"},
      {"import os; os.kill(os.getpid(), 9)", "runtime_error/signal"},
      {"import sys; sys.exit(124)", "runtime_error/exit_code"},
      {"import sys; sys.exit(137)", "runtime_error/exit_code"},
      {"def f(:\n", "runtime_error/exit_code"},
      {"while True: pass", "timeout/wall"},
      {"import time; time.sleep(100)", "timeout/wall"},
      {"import signal, time\nsignal.signal(15, signal.SIG_IGN)\nwhile True: time.sleep(1)", "timeout/wall"},
      {"import os\nos.kill(-1, 9)", "success"},
      {"import sys\nwhile True: sys.stdout.write('flood' * 1000)", "runtime_error/output"},
      {"import sys\nwhile True: sys.stderr.write('flood' * 1000)", "runtime_error/output"},
  };
  in_runner(options(), [&](runner::CodeRunner& runner) -> Task<> {
    for (const Row& row : rows) {
      Submission submission = python(row.source);
      submission.program.run_limits.wall = 1500ms;
      submission.program.run_limits.output = mib(1);
      auto judged = co_await runner.run(submission);
      EXPECT_TRUE(judged) << judged.error().message;
      if (!judged) continue;
      EXPECT_EQ(said(*judged), row.verdict) << row.source << "\n" << judged->reason << judged->cases[0].err;
      // The next one is not disturbed.
      auto next = co_await runner.run(answer);
      EXPECT_TRUE(next && next->passed() && next->cases[0].out == "42\n") << row.source;
    }
  });
}

RUNNER(CpuLimit_IsATimeoutByCpu) {
  Submission submission = python("while True: pass");
  submission.program.run_limits.cpu = 300ms;
  const Report report = judge(submission);
  EXPECT_EQ(said(report), "timeout/cpu") << report.reason;
}

RUNNER(MemoryHog_IsARuntimeErrorByMemoryAndTheNextIsNotDisturbed) {
  if (fake_has_no("limits")) return;
  in_runner(options(), [&](runner::CodeRunner& runner) -> Task<> {
    for (const char* source : {"x = bytearray(1 << 30)\nfor i in range(0, len(x), 4096): x[i] = 1",
                               "import subprocess, sys\nsys.exit(subprocess.call([sys.executable, '-c',"
                               "'x = b\"x\" * (1 << 30)']) and 1)"}) {
      Submission hog = python(source);
      auto judged = co_await runner.run(hog);
      EXPECT_TRUE(judged) << judged.error().message;
      EXPECT_EQ(said(*judged), "runtime_error/memory") << judged->reason;
      EXPECT_GT(judged->cases[0].outcome.oom_kills, 0u);
      auto next = co_await runner.run(answer);
      EXPECT_TRUE(next && next->passed());
    }
  });
}

RUNNER(ForkBomb_EndsInBoundedTimeAndTheNextIsNotDisturbed) {
  if (fake_has_no("limits")) return;
  in_runner(options(), [&](runner::CodeRunner& runner) -> Task<> {
    Submission bomb = in_language("bash", "f() { f | f & }; f; while true; do f; done");
    bomb.program.run_limits.wall = 2s;
    auto judged = co_await runner.run(bomb, Deadline::after(60s));
    EXPECT_TRUE(judged) << judged.error().message;
    EXPECT_FALSE(judged->passed());
    EXPECT_NE(judged->category, Category::system_error) << judged->reason;
    auto next = co_await runner.run(answer);
    EXPECT_TRUE(next && next->passed());
  });
}

RUNNER(MissingTool_IsASystemErrorThatSaysWhatToInstall) {
  if (fake_has_no("limits")) return;
  if (::access("/usr/bin/dotnet", X_OK) == 0) CLOCHE_DOES_NOT_APPLY("this host has dotnet, which Debian has not");
  const Report report = judge(in_language("csharp", "System.Console.WriteLine(1);"));
  EXPECT_EQ(said(report), "system_error/not_started");
  EXPECT_THAT(report.reason, HasSubstr("dotnet"));
}

RUNNER(CommandThatIsNotThere_IsTheCallersRuntimeError) {
  Submission submission = python("print(1)");
  submission.program.command = "./nothing here";
  EXPECT_EQ(said(judge(submission)), "runtime_error/not_started");
}

RUNNER(SourceInOddEncodings_RunsAsTheInterpreterTakesIt) {
  EXPECT_EQ(judge(python("\xef\xbb\xbfprint('bom')\r\nprint('crlf')\r\n")).cases.at(0).out, "bom\ncrlf\n");
  EXPECT_EQ(judge(python("# -*- coding: latin-1 -*-\nprint(len('\xe9'))\n")).cases.at(0).out, "1\n");
  EXPECT_EQ(judge(python("print('na\xc3\xafve \xe2\x82\xac')")).cases.at(0).out, "na\xc3\xafve \xe2\x82\xac\n");
}

RUNNER(BadSubmissions_AreErrorsWithoutAVerdict) {
  ManagerOptions without_php = options(0, 1);
  without_php.aliases.erase("php");
  in_runner(without_php, [](runner::CodeRunner& runner) -> Task<> {
    Submission unknown = in_language("cobol", "x");
    auto refused = co_await runner.run(unknown);
    EXPECT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("Unsupported language: cobol"));
    Submission outside = python("x");
    outside.program.files["../x"] = "";
    refused = co_await runner.run(outside);
    EXPECT_FALSE(refused);
    Submission endless = python("x");
    endless.program.run_limits.wall = 24h;
    refused = co_await runner.run(endless);
    EXPECT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("running_timeout"));
    Submission poolless = in_language("php", "x");
    refused = co_await runner.run(poolless);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::not_found);
    EXPECT_EQ(runner.manager().stats().at("box").created, 0u);
  });
}

}  // namespace cloche
