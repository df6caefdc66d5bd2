/// @file
/// One-shot runs: one program in one sandbox that is made for it, or claimed, and destroyed after it.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cloche/submission.hpp"

namespace cloche {

/// One program, run once.
struct OneShotRequest {
  std::string image;                   ///< as in SandboxSpec; a sandbox is made from it
  std::string profile;                 ///< instead: a sandbox is claimed from this pool
  std::string command;                 ///< the program, found in PATH where it has no slash
  std::vector<std::string> arguments;  ///< behind the command, an argument each
  std::string code_file;               ///< what the code is called in the work directory; empty: there is none
  std::string code;                    ///< what `code_file` holds
  std::string work_dir = "/sandbox";   ///< where the code is and the program starts; a pool's sandbox has its own
  std::vector<std::string> input;      ///< stdin: these lines, newlines between them
  std::chrono::milliseconds timeout = std::chrono::seconds(10);  ///< until the program is ended
  Bytes memory = mib(128);                                       ///< of the whole sandbox
  double cpus = 0.5;                                             ///< share of cpu time: 0.5 is half a core
  std::map<std::string, std::string> env;                        ///< beside what every program has; see ExecSpec::env
};

/// The same by language: what is not set is the language's own, then the values above.
struct OneShotCode {
  std::string language;                              ///< its name or another name for it, whatever the case
  std::string code;                                  ///< the source
  std::vector<std::string> input;                    ///< as above
  std::optional<std::chrono::milliseconds> timeout;  ///< of the run; compiling has its own
  std::optional<Bytes> memory;                       ///< of the run; compiling has its own
  double cpus = 0.5;                                 ///< as above
};

/// How a one-shot run ended.
struct OneShotResult {
  bool success = false;    ///< exit code 0
  std::string output;      ///< of a success: stdout, trimmed
  std::string error;       ///< of a failure: stderr, trimmed, or stdout when there is none; or "Execution timed out"
  bool timed_out = false;  ///< it ran longer than allowed
  Category category = Category::success;  ///< as a CodeRunner counts it
  Cause cause = Cause::none;              ///< why, precisely
  Outcome outcome;                        ///< of the last step that ran
  bool sandboxed = true;                  ///< false only with OneShotOptions::allow_unsandboxed
  std::string warning;                    ///< what the caller should worry about; empty: nothing
  bool truncated = false;                 ///< not all it printed is here
};

/// How one-shot runs are made.
struct OneShotOptions {
  std::string runtime = "auto";  ///< of the sandboxes that are made; see SandboxSpec
  /// A language that has no sandbox runs on the host itself, as nobody, without any limit but time and output. Off: it
  /// is refused.
  bool allow_unsandboxed = false;
  /// How long after a program's own timeout its sandbox is given up.
  std::chrono::milliseconds outer_timeout = std::chrono::seconds(15);
};

}  // namespace cloche
