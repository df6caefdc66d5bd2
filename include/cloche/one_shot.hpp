// One-shot runs: one program in one sandbox that is made for it, or claimed, and destroyed after it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cloche/submission.hpp"

namespace cloche {

struct OneShotRequest {
  std::string image;    // as in SandboxSpec; a sandbox is made from it
  std::string profile;  // instead: a sandbox is claimed from this pool
  std::string command;
  std::vector<std::string> arguments;
  std::string code_file;  // what the code is called in the work directory; empty: there is none
  std::string code;
  std::string work_dir = "/sandbox";
  std::vector<std::string> input;  // stdin: these lines, newlines between them
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
  Bytes memory = mib(128);
  double cpus = 0.5;
};

// The same by language: what is not set is the language's own, then the values above.
struct OneShotCode {
  std::string language;
  std::string code;
  std::vector<std::string> input;
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<Bytes> memory;
  double cpus = 0.5;
};

struct OneShotResult {
  bool success = false;  // exit code 0
  std::string output;    // of a success: stdout, trimmed
  std::string error;     // of a failure: stderr, trimmed, or stdout when there is none; or "Execution timed out"
  bool timed_out = false;
  Category category = Category::success;
  Cause cause = Cause::none;
  Outcome outcome;         // of the last step that ran
  bool sandboxed = true;   // false only with OneShotOptions::allow_unsandboxed
  std::string warning;     // what the caller should worry about; empty: nothing
  bool truncated = false;  // not all it printed is here
};

struct OneShotOptions {
  std::string runtime = "auto";  // of the sandboxes that are made; see SandboxSpec
  // A language that has no sandbox runs on the host itself, as nobody, without any limit but time and output. Off: it
  // is refused.
  bool allow_unsandboxed = false;
  // How long after a program's own timeout its sandbox is given up.
  std::chrono::milliseconds outer_timeout = std::chrono::seconds(15);
};

}  // namespace cloche
