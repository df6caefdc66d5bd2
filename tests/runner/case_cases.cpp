// Cases: input byte for byte, checkers, order, independence of each other.
#include "core/async/task_group.hpp"
#include "runner/runner.hpp"

namespace cloche {

namespace {

const std::string echo = "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\n";

// What a machine that is in order judges well.
const Submission answer = python("print(42)");

}  // namespace

RUNNER(Input_ArrivesByteForByte) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  Submission submission = python(echo);
  submission.checker.kind = Checker::Kind::exact;
  for (const std::string& input :
       {std::string("-n \\t \\x41 $HOME `id` 'q' \"q\""), std::string(), every_byte, std::string("no final newline"),
        std::string("\n\n\n"), input_lines({"5", "-n", "\\"})}) {
    submission.cases.push_back(expecting(input, input));
  }
  const Report report = judge(submission);
  EXPECT_EQ(said(report), "success") << report.reason;
}

RUNNER(NetworkOfASubmission_IsThatOfItsCasesAndOfNoOther) {
  if (fake_has_no("a loopback of its own")) return;
  const std::string proxy = "import os\nprint(os.environ.get('HTTP_PROXY', 'none'))\n";
  Submission submission = python(proxy);
  submission.network = NetworkPolicy{.mode = Network::allow_list, .rules = {}, .allow = {"a.example"}, .deny = {}};
  submission.cases = {expecting("", "http://127.0.0.1:3128"), expecting("", "http://127.0.0.1:3128")};
  in_runner(options(), [&](runner::CodeRunner& runner) -> Task<> {
    const auto open = co_await runner.run(submission);
    EXPECT_TRUE(open) << open.error().message;
    if (open) {
      EXPECT_EQ(said(*open), "success") << open->reason;
    }
    Submission closed = python(proxy);
    closed.cases = {expecting("", "none")};
    const auto next = co_await runner.run(closed);
    EXPECT_TRUE(next) << next.error().message;
    if (next) {
      EXPECT_EQ(said(*next), "success") << next->reason;
    }
    submission.network->rules = {"missing"};
    const auto refused = co_await runner.run(submission);
    EXPECT_FALSE(refused);
    if (!refused) {
      EXPECT_EQ(refused.error().code, ErrorCode::not_found);
    }
  });
}

RUNNER(LargeInput_GoesInAndOutWhileTheOtherIsRead) {
  const std::string large = [] {
    std::string text;
    while (text.size() < (5u << 20)) text += std::to_string(text.size()) + "\n";
    return text;
  }();
  Submission submission = python(echo);
  submission.cases.push_back(expecting(large, large));
  submission.cases.push_back(expecting(large, ""));
  submission.cases[1].arguments = {"ignored"};
  const Report report = judge(submission);
  ASSERT_EQ(report.cases.size(), 2u);
  EXPECT_EQ(said(report.cases[0]), "success") << report.cases[0].reason;
  EXPECT_EQ(report.cases[0].out.size(), large.size());
  // A program that reads none of it is not disturbed.
  Submission deaf = python("print('done')");
  deaf.cases.push_back(expecting(large, "done"));
  EXPECT_EQ(said(judge(deaf)), "success");
}

RUNNER(FiftyMegabytesOfBinaryInput_ArriveToTheLastByte) {
  std::string large(50'000'000, '\0');
  std::uint32_t checksum = 0;  // as zlib.adler32 would have it, without its library
  std::uint32_t a = 1;
  for (std::size_t i = 0; i < large.size(); ++i) {
    large[i] = static_cast<char>(i * 31 + i / 251);
    a = (a + static_cast<unsigned char>(large[i])) % 65521;
    checksum = (checksum + a) % 65521;
  }
  Submission submission = python(
      "import sys, zlib\nsum, size = 1, 0\nwhile piece := sys.stdin.buffer.read(1 << 16):\n"
      "  sum, size = zlib.adler32(piece, sum), size + len(piece)\nprint(size, sum)\n");
  submission.program.run_limits.wall = 60s;
  submission.cases.push_back(
      expecting(std::move(large), "50000000 " + std::to_string(checksum * std::uint64_t{65536} + a)));
  const Report report = judge(std::move(submission));
  EXPECT_EQ(said(report), "success") << report.reason;
}

RUNNER(WrongAnswers_NameTheFirstDifference) {
  Submission submission = python("print(1)\nprint(3)");
  submission.cases.push_back(expecting("", "1\n2\n"));
  const Report report = judge(submission);
  EXPECT_EQ(said(report), "success/wrong_answer");
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.reason, "line 2: expected `2`, got `3`");
}

RUNNER(CasesCannotSeeEachOther) {
  Submission submission = python(
      "import os, sys, subprocess\n"
      "print(sorted(os.listdir('.')), sorted(os.listdir('/tmp')), os.path.exists('/dev/shm/mark'))\n"
      "for place in ('mark', '/tmp/mark', '/dev/shm/mark'): open(place, 'w').write('x')\n"
      "open('main.py', 'w').write('print(\"changed\")')\n"
      "subprocess.Popen(['sleep', '1000'], start_new_session=True)\n");
  for (int i = 0; i < 5; ++i) submission.cases.push_back(expecting("", "['main.py'] [] False"));
  for (const std::uint32_t parallelism : {1u, 3u}) {
    submission.parallelism = parallelism;
    const Report report = judge(submission);
    EXPECT_EQ(said(report), "success") << report.reason;
    EXPECT_EQ(report.cases.size(), 5u);
  }
}

RUNNER(CaseFilesAndArguments_AreTheCasesOwn) {
  Submission submission = python("import sys\nprint(sys.argv[1:], open('data/in.txt').read())");
  submission.program.files["data/in.txt"] = "common";
  submission.program.arguments = {"-x"};
  submission.cases.push_back(expecting("", "['-x'] common"));
  submission.cases.push_back(expecting("", "['-x', 'a b'] own"));
  submission.cases[1].arguments = {"a b"};
  submission.cases[1].files["data/in.txt"] = "own";
  const Report report = judge(submission);
  EXPECT_EQ(said(report), "success") << report.reason;
}

RUNNER(Assets_AreInEverySandboxOfTheProgram) {
  Submission submission = python("print(open('/tmp/set.csv').read()); open('/tmp/left', 'x')");
  submission.assets.push_back({"set.csv", "1,2", Access::read_only});
  submission.cases = {expecting("", "1,2"), expecting("", "1,2")};
  const Report report = judge(submission);
  EXPECT_EQ(said(report), "success") << report.reason << report.cases.at(0).err;
}

RUNNER(StopAtFirstFailure_LeavesTheRestOut) {
  // The third fails at once while the others would take long.
  Submission submission = python("import sys, time\nn = int(input())\nif n > 2: time.sleep(60)\nsys.exit(n == 2)\n");
  for (const char* n : {"0", "1", "2", "3", "4", "5"}) submission.cases.push_back(expecting(n, ""));
  submission.after_failure = AfterFailure::stop;
  submission.parallelism = 3;
  submission.program.run_limits.wall = 70s;
  const auto began = std::chrono::steady_clock::now();
  const Report report = judge(submission);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 50s);
  EXPECT_EQ(said(report), "runtime_error/exit_code");
  ASSERT_EQ(report.cases.size(), 3u);
  EXPECT_TRUE(report.cases[0].passed());
  EXPECT_TRUE(report.cases[1].passed());
  EXPECT_EQ(report.skipped, 3u);
}

RUNNER(FailureThatDoesNotStop_LeavesEachItsOwnVerdict) {
  Submission submission = python("import os\nn = int(input())\nif n == 1: os.kill(os.getpid(), 6)\nprint(n)");
  for (const char* n : {"0", "1", "2"}) submission.cases.push_back(expecting(n, n));
  submission.cases[1].name = "aborts";
  const Report report = judge(submission);
  ASSERT_EQ(report.cases.size(), 3u);
  EXPECT_TRUE(report.cases[0].passed());
  EXPECT_EQ(said(report.cases[1]), "runtime_error/signal");
  EXPECT_EQ(report.cases[1].name, "aborts");
  EXPECT_TRUE(report.cases[2].passed());
  EXPECT_EQ(said(report), "runtime_error/signal");
}

RUNNER(CheckerProgram_DecidesInASandboxOfItsOwn) {
  Submission submission = python("print(input()[::-1])\nopen('/tmp/bait', 'w')");
  submission.checker.kind = Checker::Kind::program;
  submission.checker.program = python(
                                   "import os, sys\n"
                                   "given, expected, output = (open(name).read().strip() for name in sys.argv[1:])\n"
                                   "assert not os.path.exists('/tmp/bait') and sorted(output) == sorted(given)\n"
                                   "if output == 'xx': sys.exit(3)\n"
                                   "if output != expected: print('not', expected); sys.exit(1)\n")
                                   .program;
  submission.cases = {expecting("ab", "ba"), expecting("ab", "ab"), expecting("xx", "xx")};
  const Report report = judge(submission);
  ASSERT_EQ(report.cases.size(), 3u);
  EXPECT_EQ(said(report.cases[0]), "success") << report.cases[0].reason;
  EXPECT_EQ(said(report.cases[1]), "success/wrong_answer") << report.cases[1].reason;
  EXPECT_EQ(report.cases[1].reason, "not ab");
  EXPECT_EQ(said(report.cases[2]), "system_error/checker");
  EXPECT_THAT(report.cases[2].reason, HasSubstr("exit code 3"));
}

RUNNER(SandboxThatDiesInACase_IsReplacedOnceAndTheOthersGoOn) {
  in_runner(options(1, 2), [this](runner::CodeRunner& runner) -> Task<> {
    // Process 1 of every sandbox that runs the second case is cut off from outside.
    Submission submission = python("import time\nn = int(input())\nif n == 1: time.sleep(30)\nprint(n)");
    for (const char* n : {"0", "1", "2"}) submission.cases.push_back(expecting(n, n));
    submission.parallelism = 1;
    submission.program.run_limits.wall = 40s;
    TaskGroup killers(io_.get_executor());
    killers.spawn("kill", [&]() -> Task<> {
      for (int killed = 0; killed < 2;) {
        co_await pause_for(50ms);
        const auto stats = runner.manager().stats().at("box");
        if (stats.active == 0 || stats.claims < static_cast<std::uint64_t>(2 + killed)) continue;
        co_await pause_for(1500ms);  // well inside the case
        // Only the second case is leased for so long.
        auto pool = *runner.manager().find("box");
        pool->end_leases();
        ++killed;
      }
    });
    auto judged = co_await runner.run(submission, Deadline::after(120s));
    co_await killers.shut_down();
    EXPECT_TRUE(judged) << judged.error().message;
    if (!judged) co_return;
    EXPECT_EQ(judged->cases.size(), 3u);
    EXPECT_TRUE(judged->cases[0].passed()) << judged->cases[0].reason;
    EXPECT_EQ(said(judged->cases[1]), "system_error/lost") << judged->cases[1].reason;
    EXPECT_TRUE(judged->cases[2].passed()) << judged->cases[2].reason;
  });
}

RUNNER(CancelledCaller_LeavesNothingBehind) {
  in_runner(options(1, 2), [this](runner::CodeRunner& runner) -> Task<> {
    TaskGroup callers(io_.get_executor());
    callers.spawn("judge", [&runner]() -> Task<> {
      Submission submission = python("import time\ntime.sleep(60)");
      submission.cases = {expecting("", ""), expecting("", "")};
      submission.program.run_limits.wall = 70s;
      auto judged = co_await runner.run(submission);
      ADD_FAILURE() << "was not cancelled";
    });
    const Deadline patience = Deadline::after(60s);
    while (runner.manager().stats().at("box").active == 0 && !patience.passed()) co_await pause_for(20ms);
    co_await callers.shut_down();
    EXPECT_EQ(runner.manager().stats().at("box").active, 0u);
    auto next = co_await runner.run(answer);
    EXPECT_TRUE(next && next->passed());
  });
}

RUNNER(ManySubmissionsOfTheSameNames_NeverSeeEachOther) {
  in_runner(options(2, 3), [this](runner::CodeRunner& runner) -> Task<> {
    TaskGroup callers(io_.get_executor());
    int passed = 0;
    for (int i = 0; i < 8; ++i) {
      callers.spawn("judge", [&runner, &passed, i]() -> Task<> {
        const std::string number = std::to_string(i);
        Submission submission = python("import os\nopen('mine', 'x').write(input())\nprint(open('mine').read(), " +
                                       number + ", len(os.listdir('.')))");
        submission.cases = {expecting("a" + number, "a" + number + " " + number + " 2"),
                            expecting("b" + number, "b" + number + " " + number + " 2")};
        auto judged = co_await runner.run(submission, Deadline::after(100s));
        EXPECT_TRUE(judged) << judged.error().message;
        EXPECT_TRUE(judged && judged->passed()) << judged->reason;
        if (judged && judged->passed()) ++passed;
      });
    }
    co_await callers.join();
    EXPECT_EQ(passed, 8);
  });
}

RUNNER(Zygote_RunsPythonWithTheSameVerdicts) {
  ManagerOptions with_zygote = options();
  ZygoteSpec zygote;
  with_zygote.profiles[0].zygotes.push_back(zygote);
  in_runner(with_zygote, [](runner::CodeRunner& runner) -> Task<> {
    Submission submission = python("import sys\nprint(__name__, sys.argv, input())");
    submission.program.arguments = {"x"};
    submission.cases = {expecting("in", "__main__ ['main.py', 'x'] in")};
    auto judged = co_await runner.run(submission);
    EXPECT_TRUE(judged && judged->passed()) << judged->reason;
    Submission failing = python("raise SystemExit(3)");
    judged = co_await runner.run(failing);
    EXPECT_EQ(said(*judged), "runtime_error/exit_code");
    EXPECT_EQ(judged->cases[0].outcome.exit_code, 3);
  });
}

}  // namespace cloche
