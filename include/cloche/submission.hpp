/// @file
/// Input and output of a CodeRunner: a program with test cases, and the verdicts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/language.hpp"
#include "cloche/network.hpp"
#include "cloche/outcome.hpp"
#include "cloche/spec.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// Maps paths below the work directory to contents.
using FileTree = std::map<std::string, std::string>;

/// Source code and how to run it.
struct Program {
  std::string language;  ///< The name or alias of the language, case-insensitive.
  std::string source;    ///< One source file, named as the language requires. Or empty, with `files`.
  FileTree files;        ///< Files by path. The language finds the main file.
  /// A command that replaces the language's own. It is split like in a shell but runs without one.
  std::string command;
  bool command_alone = false;  ///< With a `command`: nothing is compiled before it, and no main file is searched.
  std::vector<std::string> arguments;  ///< Arguments after the command.
  StepLimits compile_limits;           ///< Limits that replace those of the language.
  StepLimits run_limits;               ///< Limits that replace those of the language.
};

/// One run of the program.
struct TestCase {
  std::string name;                     ///< The name in the report.
  std::string input;                    ///< Stdin, byte for byte; see input_lines().
  std::optional<std::string> expected;  ///< The expected output. Unset: nothing is compared.
  std::vector<std::string> arguments;   ///< Arguments after those of the program.
  FileTree files;                       ///< Files that are added to those of the program or replace them.
};

/// A file for /tmp, such as a data set or a fixture.
struct Asset {
  std::string target;                 ///< The path below /tmp, with or without "/tmp/".
  std::string content;                ///< The bytes of the file.
  Access access = Access::read_only;  ///< Mode 444 or 644.
};

/// Joins lines, each with a line break.
CLOCHE_API std::string input_lines(const std::vector<std::string>& lines);

/// How far a number may be from the expected one. The larger of both tolerances counts.
struct Tolerance {
  double absolute = 1e-9;  ///< The absolute tolerance.
  double relative = 1e-9;  ///< The tolerance relative to the expected number.
};

/// How the output of a case is compared with the expected output.
struct Checker {
  /// The kinds of comparison.
  enum class Kind {
    exact,    ///< Compares byte for byte.
    trimmed,  ///< Ignores white space at the ends of lines and empty lines at the end.
    tokens,   ///< Compares word by word.
    numbers,  ///< Compares word by word, with a tolerance for numbers.
    program,  ///< Runs `program` with the files input, expected and output: exit code 0 means right, 1 wrong.
  };
  Kind kind = Kind::trimmed;       ///< The kind of comparison.
  Tolerance tolerance;             ///< The tolerance for numbers.
  std::optional<Program> program;  ///< The program for Kind::program.
};

/// What happens to the cases after one that did not pass.
enum class AfterFailure { go_on, stop };

/// A program and the cases to judge it by.
struct Submission {
  Program program;              ///< The program to judge.
  std::vector<TestCase> cases;  ///< The cases. Empty: the program runs once, without input.
  std::vector<Asset> assets;    ///< Files in every sandbox that the program runs in.
  Checker checker;              ///< How the output is compared.
  /// The interactor of an interactive problem. It exchanges stdin and stdout with the submitted program and decides by
  /// its exit code: 0 means right, 1 wrong. It gets the files input and expected.
  std::optional<Program> interactor;
  AfterFailure after_failure = AfterFailure::go_on;  ///< Whether to run the remaining cases after a failure.
  std::uint32_t parallelism = 0;                     ///< Cases to run at a time. 0: as many as there are cores.
  std::string tenant;                                ///< The tenant; see ClaimOptions.
  /// What the program can reach, also while it is compiled, instead of the network of its profile. A checker or an
  /// interactor has the network of its profile.
  std::optional<NetworkPolicy> network;
};

/// How a case ended, in the autograder's terms.
enum class Category {
  success,            ///< It ran to its end with exit code 0. Whether its answer is right is in the cause.
  runtime_error,      ///< It failed by itself, or exceeded its limit of memory or output.
  compilation_error,  ///< The compile step failed, for any cause.
  timeout,            ///< It exceeded its time limit.
  system_error,       ///< Cloche, the toolchain, a checker or an interactor failed, not the program.
};
/// Returns the name of the enumerator.
CLOCHE_API std::string_view to_string(Category category);

/// The precise cause of a category.
enum class Cause {
  none,
  exit_code,
  signal,
  wall,
  cpu,
  memory,
  output,
  not_started,   ///< No such program, or it cannot be executed.
  wrong_answer,  ///< Only with Category::success.
  lost,          ///< The sandbox died or was not available.
  checker,       ///< The checker or interactor failed.
};
/// Returns the name of the enumerator.
CLOCHE_API std::string_view to_string(Cause cause);

/// How compiling ended.
struct CompileReport {
  bool ran = false;  ///< False for a language without a compile step.
  Outcome outcome;   ///< How the compiler ended.
  std::string out;   ///< What it wrote to stdout.
  std::string err;   ///< What it wrote to stderr.
};

/// How one case ended.
struct CaseReport {
  std::string name;                            ///< The name in the submission.
  Category category = Category::system_error;  ///< The category in the autograder's terms.
  Cause cause = Cause::none;                   ///< The precise cause.
  std::string reason;  ///< Unless it is a success: the first difference, the message of the checker, or the error.
  std::string out;     ///< What it wrote to stdout.
  std::string err;     ///< What it wrote to stderr.
  Outcome outcome;     ///< Exit code, signal, times, peak memory and OOM kills.

  /// Returns true if it ran to its end and its answer is right or was not compared.
  bool passed() const { return category == Category::success && cause == Cause::none; }
  /// Returns true if the output is incomplete.
  bool truncated() const { return outcome.out.dropped.count > 0 || outcome.err.dropped.count > 0; }
};

/// All verdicts.
struct Report {
  CompileReport compile;  ///< How compiling ended.
  /// Reports in the order of the cases. Empty if compiling failed. With AfterFailure::stop the first failure is the
  /// last.
  std::vector<CaseReport> cases;
  std::uint32_t skipped = 0;  ///< The number of cases skipped after a failure.
  /// The category of the first failure, including compiling.
  Category category = Category::success;
  Cause cause = Cause::none;  ///< The precise cause.
  std::string reason;         ///< A message for people.

  /// Returns true if everything passed.
  bool passed() const { return category == Category::success && cause == Cause::none; }
};

}  // namespace cloche
