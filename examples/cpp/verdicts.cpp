// Test cases with verdicts: run a submission on each case; the report says which passed and why others did not.
#include <cloche/runner.hpp>
#include <iostream>

namespace {

using namespace std::chrono_literals;

// A pool that keeps one sandbox warm.
cloche::ManagerOptions python_pool() {
  cloche::Profile python;
  python.name = "python";
  python.sandbox.work_dir = "/app";
  python.pool.pool_size = 1;
  cloche::ManagerOptions options;
  options.profiles.push_back(python);
  return options;
}

void tell(const cloche::Report& report) {
  std::cout << (report.passed() ? "passed" : "failed") << "\n";
  for (const auto& result : report.cases) {
    std::cout << "  " << result.name << ": " << to_string(result.category) << ", " << to_string(result.cause) << "\n";
  }
}

void example() {
  cloche::Manager manager(python_pool());
  cloche::CodeRunner runner(manager);

  cloche::Submission submission;
  submission.program.language = "python";
  submission.program.run_limits.wall = 2s;
  submission.program.source =
      "n = int(input())\n"
      "while n < 0: pass\n"
      "print(n * n if n != 7 else 50)\n";
  submission.cases = {{.name = "small", .input = "3\n", .expected = "9"},
                      {.name = "seven", .input = "7\n", .expected = "49"},
                      {.name = "words", .input = "three\n", .expected = "9"},
                      {.name = "endless", .input = "-1\n", .expected = "1"}};
  const cloche::Report report = runner.run(submission);
  tell(report);
  std::cout << "  why seven failed: " << report.cases[1].reason << "\n";

  // Numbers within a tolerance, whatever the white space; and nothing more after the first failure.
  submission.program.source = "print(2 ** 0.5,  3 ** 0.5 )";
  submission.cases = {{.name = "roots", .expected = "1.41421356\n1.73205081\n"},
                      {.name = "wrong roots", .expected = "1.5 1.7"},
                      {.name = "skipped", .expected = "1.41421356 1.73205081"}};
  submission.checker.kind = cloche::Checker::Kind::numbers;
  submission.checker.tolerance = {.absolute = 1e-6, .relative = 0};
  submission.after_failure = cloche::AfterFailure::stop;
  submission.parallelism = 1;
  const cloche::Report roots = runner.run(submission);
  tell(roots);
  std::cout << "  skipped " << roots.skipped << "\n";
}

}  // namespace

int main() {
  try {
    example();
    return 0;
  } catch (const std::exception& error) {
    // Cloche itself failed; the message says why.
    std::cerr << error.what() << "\n";
    return 1;
  }
}

// Prints:
//
//   failed
//     small: success, none
//     seven: success, wrong_answer
//     words: runtime_error, exit_code
//     endless: timeout, wall
//     why seven failed: line 1: expected `49`, got `50`
//   failed
//     roots: success, none
//     wrong roots: success, wrong_answer
//     skipped 1
