// What a CodeRunner is given and what it answers: a program with its test cases in, verdicts out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/language.hpp"
#include "cloche/outcome.hpp"
#include "cloche/spec.hpp"

namespace cloche {

// Paths below the work directory to content.
using FileTree = std::map<std::string, std::string>;

struct Program {
  std::string language;  // its name or another name for it, whatever the case
  std::string source;    // one file, called as the language wants it; or none, and `files`
  FileTree files;
  std::string command;                 // instead of the language's own; split as a shell would, run without one
  std::vector<std::string> arguments;  // behind the command
  StepLimits compile_limits;           // over the language's
  StepLimits run_limits;
};

struct TestCase {
  std::string name;
  std::string input;                    // stdin, byte for byte; see input_lines()
  std::optional<std::string> expected;  // unset: nothing is compared
  std::vector<std::string> arguments;   // behind the program's
  FileTree files;                       // beside, or in place of, the program's
};

// A file for /tmp: a data set, a fixture.
struct Asset {
  std::string target;  // below /tmp, with or without it in front
  std::string content;
  Access access = Access::read_only;  // mode 444, or 644
};

// So many lines, each with its end.
std::string input_lines(const std::vector<std::string>& lines);

struct Tolerance {
  double absolute = 1e-9;
  double relative = 1e-9;
};

// How a case's output is compared with what was expected.
struct Checker {
  enum class Kind {
    exact,    // byte for byte
    trimmed,  // white space at the ends of lines and empty lines at the end do not matter
    tokens,   // word by word
    numbers,  // word by word, numbers within the tolerance
    program,  // `program` says: exit code 0 right, 1 wrong; it is given the files input, expected and output
  };
  Kind kind = Kind::trimmed;
  Tolerance tolerance;
  std::optional<Program> program;
};

enum class AfterFailure { go_on, stop };

struct Submission {
  Program program;
  std::vector<TestCase> cases;  // none: the program runs once, without input
  std::vector<Asset> assets;    // in every sandbox that the program runs in
  Checker checker;
  // An interactive problem: this program talks with the submission's, each reading what the other prints, and says by
  // its exit code: 0 right, 1 wrong. It is given the files input and expected.
  std::optional<Program> interactor;
  AfterFailure after_failure = AfterFailure::go_on;
  std::uint32_t parallelism = 0;  // cases at a time; 0: as many as there are cores
  std::string tenant;             // whose it is; see ClaimOptions
};

enum class Category {
  success,            // it ran to its end with exit code 0; whether its answer is right is the cause's to say
  runtime_error,      // it failed by itself, or used more memory or printed more than allowed
  compilation_error,  // the compile step failed, whatever the cause
  timeout,            // it took longer than allowed
  system_error,       // Cloche, the language's toolchain, a checker or an interactor failed; not the program's doing
};
std::string_view to_string(Category category);

// The precise cause behind a category.
enum class Cause {
  none,
  exit_code,
  signal,
  wall,
  cpu,
  memory,
  output,
  not_started,   // no such program, or it cannot be executed
  wrong_answer,  // with Category::success
  lost,          // the sandbox died or could not be had
  checker,       // the checker or interactor failed
};
std::string_view to_string(Cause cause);

struct CompileReport {
  bool ran = false;  // false for a language that has no compile step
  Outcome outcome;
  std::string out;
  std::string err;
};

struct CaseReport {
  std::string name;
  Category category = Category::system_error;
  Cause cause = Cause::none;
  std::string reason;  // of whatever is not a success: the first difference, the checker's words, the error
  std::string out;
  std::string err;
  Outcome outcome;  // exit code, signal, times, peak memory, kills for memory

  bool passed() const { return category == Category::success && cause == Cause::none; }
  // Not all it printed is here.
  bool truncated() const { return outcome.out.dropped.count > 0 || outcome.err.dropped.count > 0; }
};

struct Report {
  CompileReport compile;
  // In the order of the cases; none when compiling failed. With AfterFailure::stop the first failure is the last.
  std::vector<CaseReport> cases;
  std::uint32_t skipped = 0;  // cases after the failure that ended it
  // Of the first that did not pass, compiling included.
  Category category = Category::success;
  Cause cause = Cause::none;
  std::string reason;

  bool passed() const { return category == Category::success && cause == Cause::none; }
};

}  // namespace cloche
