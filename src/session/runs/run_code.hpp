// Runs code or a command in a session's sandbox, each as a fresh process that starts in the workspace, and finds what
// it made there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "language/language_registry.hpp"
#include "runner/step_pool.hpp"
#include "session/runs/run_request.hpp"
#include "session/session.hpp"

namespace cloche::session {

// Receives what a run reports while it is under way. Both may be empty.
struct RunObserver {
  OutputSink output;          // each piece of the program's output as it comes, within `keep_output`
  runner::ExecObserver exec;  // the program when it has started, and nullptr before it is destroyed
};

struct RunResult {
  Category category = Category::system_error;
  Cause cause = Cause::none;
  std::string reason;     // of whatever is not a success
  CompileReport compile;  // `ran` only where the language has such a step
  Outcome outcome;        // of the run; of the compile step where that failed
  ArtifactList artifacts;

  bool truncated() const { return outcome.out.dropped.count > 0 || outcome.err.dropped.count > 0; }
};

// `invalid_argument` for an unknown language and an invalid request, `sandbox_lost` if the sandbox dies, and then the
// session is lost. How the program ended is in the result. If the caller is cancelled, the program is stopped.
Task<Result<RunResult>> run_in_session(Session& session, const LanguageRegistry& languages, RunRequest request,
                                       RunObserver observer, Deadline deadline);

// A program in the background, and what is needed when it has ended.
struct BackgroundRun {
  std::uint64_t id = 0;               // that of LiveSandbox::attach and list_background
  std::string directory;              // its private one; empty: none
  std::optional<WorkspaceMark> mark;  // none: it was started before this process
  CompileReport compile;
  ArtifactCaps artifacts;
  std::function<runner::Verdict(const Outcome&)> judge;
};

// The same in the background (compiled first, in the foreground): it keeps running without a client and survives a
// crash of this process. If compiling fails, there is a result immediately.
Task<Result<std::variant<BackgroundRun, RunResult>>> start_in_background(Session& session,
                                                                         const LanguageRegistry& languages,
                                                                         RunRequest request, Deadline deadline);

// The result after its end. Removes its private directory.
Task<RunResult> conclude_background(Session& session, BackgroundRun run, Outcome outcome, Deadline deadline);

// The default time limit of a run.
constexpr std::chrono::seconds default_run_time{120};
constexpr std::chrono::hours default_background_time{1};

}  // namespace cloche::session
