// ScriptExecutor: runs scripts in a sandbox, each in a fresh fork of a harness that lives there.
//
// The harness is a zygote: it runs under the agent's uid, has the tools' modules imported, and survives a reset. A
// script runs as the sandbox's user in a process of its own, so it reaches neither the harness nor the next script. Its
// events come on a descriptor apart from stdout. Deadlines and caps are enforced outside of its process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/async/task.hpp"
#include "sandbox/live_sandbox.hpp"
#include "script/script_event.hpp"
#include "script/script_progress.hpp"
#include "script/script_request.hpp"

namespace cloche {

// One running script. Destroying it before its end stops the script.
class ScriptRun {
 public:
  ScriptRun(std::unique_ptr<Exec> exec, ScriptProgress progress, Deadline guard);

  // The next event or the result. Nothing follows the result. The script waits if this is not called for long. An error
  // means that Cloche could not do its work.
  Task<Result<std::variant<ScriptEvent, ScriptResult>>> next(Deadline deadline = Deadline::never());
  // Ends the script; its result says `cancelled`.
  void stop() { exec_->stop(); }

 private:
  std::unique_ptr<Exec> exec_;
  ScriptProgress progress_;
  Deadline guard_;
  bool stopped_ = false;
};

class ScriptExecutor {
 public:
  // Several harnesses, of different names and imports, may live in one sandbox.
  explicit ScriptExecutor(std::string harness = "scripts") : harness_(std::move(harness)) {}

  // Starts the harness; when it returns, the harness is ready. Again: replaces it.
  Task<Status> prepare(LiveSandbox& sandbox, ScriptHarness options, Deadline deadline) const;

  // Starts a script. A sandbox without the harness is an error, reported here or by the run's first next().
  Task<Result<std::unique_ptr<ScriptRun>>> start(LiveSandbox& sandbox, ScriptRequest request, Deadline deadline) const;

  // Runs a script to its end. The deadline is the caller's own, over the script's limit: when it passes, the script is
  // stopped and the answer is a timeout error.
  Task<Result<ScriptResult>> run(LiveSandbox& sandbox, ScriptRequest request, ScriptListener listener,
                                 Deadline deadline = Deadline::never()) const;

 private:
  std::string harness_;
};

}  // namespace cloche
