/// @file
/// One-shot runs: one program in one sandbox, which is created or claimed for it and destroyed afterwards.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cloche/submission.hpp"

namespace cloche {

/// One program to run once.
struct OneShotRequest {
  std::string image;                   ///< The image to create a sandbox from; see SandboxSpec.
  std::string profile;                 ///< Instead of an image: the pool to claim a sandbox from.
  std::string command;                 ///< The program, found in PATH if it has no slash.
  std::vector<std::string> arguments;  ///< The arguments after the command.
  std::string code_file;               ///< The name of the code file in the work directory. Empty: no code file.
  std::string code;                    ///< The content of `code_file`.
  /// The directory of the code, in which the program starts. Sandboxes of a pool have their own.
  std::string work_dir = "/sandbox";
  std::vector<std::string> input;                                ///< The lines of stdin, separated by newlines.
  std::chrono::milliseconds timeout = std::chrono::seconds(10);  ///< The time limit.
  Bytes memory = mib(128);                                       ///< The memory limit of the whole sandbox.
  double cpus = 0.5;                                             ///< Share of CPU time: 0.5 is half a core.
  std::map<std::string, std::string> env;                        ///< Additional variables; see ExecSpec::env.
};

/// Source code to run once. Unset values come from the language, then from the defaults above.
struct OneShotCode {
  std::string language;                              ///< The name or alias of the language, case-insensitive.
  std::string code;                                  ///< The source code.
  std::vector<std::string> input;                    ///< The lines of stdin, separated by newlines.
  std::optional<std::chrono::milliseconds> timeout;  ///< The time limit of the run. The compile step has its own.
  std::optional<Bytes> memory;                       ///< The memory limit of the run. The compile step has its own.
  double cpus = 0.5;                                 ///< Share of CPU time: 0.5 is half a core.
};

/// How a one-shot run ended.
struct OneShotResult {
  bool success = false;    ///< True if the exit code was 0.
  std::string output;      ///< Of a success: trimmed stdout.
  std::string error;       ///< Of a failure: trimmed stderr, or stdout if stderr is empty, or "Execution timed out".
  bool timed_out = false;  ///< True if the program exceeded its time limit.
  Category category = Category::success;  ///< The category, as in a CodeRunner report.
  Cause cause = Cause::none;              ///< The precise cause.
  Outcome outcome;                        ///< The outcome of the last step that ran.
  bool sandboxed = true;                  ///< False only with OneShotOptions::allow_unsandboxed.
  std::string warning;                    ///< A warning for the caller. Empty: none.
  bool truncated = false;                 ///< True if the output is incomplete.
};

/// Options of one-shot runs.
struct OneShotOptions {
  std::string runtime = "auto";  ///< The runtime of created sandboxes; see SandboxSpec.
  /// Runs code in a language that has no sandbox on the host, as user `nobody`, limited only in time and output. False:
  /// such code is refused.
  bool allow_unsandboxed = false;
  /// How long to wait for a sandbox after the program's time limit has passed.
  std::chrono::milliseconds outer_timeout = std::chrono::seconds(15);
};

}  // namespace cloche
