// Interactive problems: two sandboxes joined by pipes.
#include "runner/runner.hpp"

namespace cloche {

namespace {

// Thinks of the number in `input`; answers each guess; content after the right one.
const std::string guessing =
    "import sys\n"
    "number = int(open(sys.argv[1]).read())\n"
    "for turn in range(20):\n"
    "    line = sys.stdin.readline()\n"
    "    if not line: print('it gave up', file=sys.stderr); sys.exit(1)\n"
    "    guess = int(line)\n"
    "    print('right' if guess == number else 'lower' if number < guess else 'higher', flush=True)\n"
    "    if guess == number: sys.exit(0)\n"
    "print('too many guesses', file=sys.stderr)\n"
    "sys.exit(1)\n";

const std::string bisecting =
    "low, high = 1, 1000\n"
    "while True:\n"
    "    guess = (low + high) // 2\n"
    "    print(guess, flush=True)\n"
    "    answer = input()\n"
    "    if answer == 'right': break\n"
    "    if answer == 'lower': high = guess - 1\n"
    "    else: low = guess + 1\n";

Submission interactive(std::string source, std::string interactor = guessing) {
  Submission submission = python(std::move(source));
  submission.interactor = python(std::move(interactor)).program;
  submission.program.run_limits.wall = 3s;
  TestCase test;
  test.input = "777";
  submission.cases.push_back(test);
  return submission;
}

}  // namespace

RUNNER(Interaction_EachSideHasItsVerdict) {
  struct Row {
    const char* what;
    std::string program;
    std::string interactor;
    const char* verdict;
  };
  const Row rows[] = {
      {"plays well", bisecting, guessing, "success"},
      {"guesses wrong", "for n in range(1, 100): print(n, flush=True); input()", guessing, "success/wrong_answer"},
      {"says nothing", "", guessing, "success/wrong_answer"},
      {"crashes in the middle", "print(500, flush=True); input(); raise ValueError", guessing,
       "runtime_error/exit_code"},
      {"waits for each other", "input()", guessing, "timeout/wall"},
      {"goes on after the end", bisecting + "while True: pass\n", guessing, "timeout/wall"},
      {"interactor breaks", bisecting, "raise ValueError('oh')", "success/wrong_answer"},
      {"interactor fails", bisecting, "import sys; sys.exit(7)", "system_error/checker"},
      {"floods a deaf interactor", "import sys\nwhile True: sys.stdout.write('x' * 65536)",
       "import sys, time; time.sleep(60)", "runtime_error/output"},
  };
  in_runner(options(2, 4), [&](runner::CodeRunner& runner) -> Task<> {
    for (const Row& row : rows) {
      Submission submission = interactive(row.program, row.interactor);
      submission.interactor->run_limits.wall = 2s;
      auto judged = co_await runner.run(submission, Deadline::after(60s));
      EXPECT_TRUE(judged) << row.what << ": " << judged.error().message;
      if (!judged) continue;
      EXPECT_EQ(said(*judged), row.verdict) << row.what << ": " << judged->reason << judged->cases[0].err;
    }
  });
}

RUNNER(ManyInteractions_DoNotBlockEachOther) {
  Submission submission = interactive(bisecting);
  for (int i = 0; i < 5; ++i) submission.cases.push_back(submission.cases.front());
  submission.parallelism = 4;
  submission.program.run_limits.wall = 20s;
  const Report report = judge(submission, options(1, 3));
  EXPECT_EQ(said(report), "success") << report.reason;
  EXPECT_EQ(report.cases.size(), 6u);
}

RUNNER(InteractionInAPoolOfOne_IsRefusedAndDoesNotWait) {
  in_runner(options(1, 1), [](runner::CodeRunner& runner) -> Task<> {
    const Submission submission = interactive(bisecting);
    auto refused = co_await runner.run(submission);
    EXPECT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("scale_limit"));
  });
}

}  // namespace cloche
