/// @file
/// What a CodeRunner is given and what it answers: a program with its test cases in, verdicts out.
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
#include "cloche/visibility.hpp"

namespace cloche {

/// Paths below the work directory to content.
using FileTree = std::map<std::string, std::string>;

/// Source and how to run it.
struct Program {
  std::string language;        ///< its name or another name for it, whatever the case
  std::string source;          ///< one file, called as the language wants it; or none, and `files`
  FileTree files;              ///< by path; the language finds the one to run
  std::string command;         ///< instead of the language's own; split as a shell would, run without one
  bool command_alone = false;  ///< with a `command`: nothing is compiled before it, and no main file is looked for
  std::vector<std::string> arguments;  ///< behind the command
  StepLimits compile_limits;           ///< over the language's
  StepLimits run_limits;               ///< over the language's
};

/// One run of the program.
struct TestCase {
  std::string name;                     ///< for the report
  std::string input;                    ///< stdin, byte for byte; see input_lines()
  std::optional<std::string> expected;  ///< unset: nothing is compared
  std::vector<std::string> arguments;   ///< behind the program's
  FileTree files;                       ///< beside, or in place of, the program's
};

/// A file for /tmp: a data set, a fixture.
struct Asset {
  std::string target;                 ///< below /tmp, with or without it in front
  std::string content;                ///< the file's bytes
  Access access = Access::read_only;  ///< mode 444, or 644
};

/// So many lines, each with its end.
CLOCHE_API std::string input_lines(const std::vector<std::string>& lines);

/// How far a number may be from what was expected: the larger of both counts.
struct Tolerance {
  double absolute = 1e-9;  ///< a distance
  double relative = 1e-9;  ///< a share of what was expected
};

/// How a case's output is compared with what was expected.
struct Checker {
  /// The ways there are.
  enum class Kind {
    exact,    ///< byte for byte
    trimmed,  ///< white space at the ends of lines and empty lines at the end do not matter
    tokens,   ///< word by word
    numbers,  ///< word by word, numbers within the tolerance
    program,  ///< `program` says: exit code 0 right, 1 wrong; it is given the files input, expected and output
  };
  Kind kind = Kind::trimmed;       ///< which of them
  Tolerance tolerance;             ///< for numbers
  std::optional<Program> program;  ///< for Kind::program
};

/// What happens to the cases behind one that did not pass.
enum class AfterFailure { go_on, stop };

/// A program and what it is to be tried with.
struct Submission {
  Program program;              ///< what is tried
  std::vector<TestCase> cases;  ///< none: the program runs once, without input
  std::vector<Asset> assets;    ///< in every sandbox that the program runs in
  Checker checker;              ///< what is right
  /// An interactive problem: this program talks with the submission's, each reading what the other prints, and says by
  /// its exit code: 0 right, 1 wrong. It is given the files input and expected.
  std::optional<Program> interactor;
  AfterFailure after_failure = AfterFailure::go_on;  ///< whether all cases are wanted
  std::uint32_t parallelism = 0;                     ///< cases at a time; 0: as many as there are cores
  std::string tenant;                                ///< whose it is; see ClaimOptions
};

/// How a case ended, in the autograder's words.
enum class Category {
  success,            ///< it ran to its end with exit code 0; whether its answer is right is the cause's to say
  runtime_error,      ///< it failed by itself, or used more memory or printed more than allowed
  compilation_error,  ///< the compile step failed, whatever the cause
  timeout,            ///< it took longer than allowed
  system_error,       ///< Cloche, the language's toolchain, a checker or an interactor failed; not the program's doing
};
/// Its name, as it stands in the enumeration.
CLOCHE_API std::string_view to_string(Category category);

/// The precise cause behind a category.
enum class Cause {
  none,
  exit_code,
  signal,
  wall,
  cpu,
  memory,
  output,
  not_started,   ///< no such program, or it cannot be executed
  wrong_answer,  ///< with Category::success
  lost,          ///< the sandbox died or could not be had
  checker,       ///< the checker or interactor failed
};
/// Its name, as it stands in the enumeration.
CLOCHE_API std::string_view to_string(Cause cause);

/// How compiling ended.
struct CompileReport {
  bool ran = false;  ///< false for a language that has no compile step
  Outcome outcome;   ///< how the compiler ended
  std::string out;   ///< what it printed on stdout
  std::string err;   ///< what it printed on stderr
};

/// How one case ended.
struct CaseReport {
  std::string name;                            ///< as in the submission
  Category category = Category::system_error;  ///< in the autograder's words
  Cause cause = Cause::none;                   ///< why, precisely
  std::string reason;  ///< of whatever is not a success: the first difference, the checker's words, the error
  std::string out;     ///< what it printed on stdout
  std::string err;     ///< what it printed on stderr
  Outcome outcome;     ///< exit code, signal, times, peak memory, kills for memory

  /// It ran to its end, and its answer is right where one was expected.
  bool passed() const { return category == Category::success && cause == Cause::none; }
  /// Not all it printed is here.
  bool truncated() const { return outcome.out.dropped.count > 0 || outcome.err.dropped.count > 0; }
};

/// All verdicts.
struct Report {
  CompileReport compile;  ///< how compiling ended
  /// In the order of the cases; none when compiling failed. With AfterFailure::stop the first failure is the last.
  std::vector<CaseReport> cases;
  std::uint32_t skipped = 0;  ///< cases after the failure that ended it
  /// Of the first that did not pass, compiling included.
  Category category = Category::success;
  Cause cause = Cause::none;  ///< why, precisely
  std::string reason;         ///< for people

  /// Everything passed.
  bool passed() const { return category == Category::success && cause == Cause::none; }
};

}  // namespace cloche
