// From a request to the steps in a session's sandbox. No I/O.
#pragma once

#include <string>

#include "pool/lease.hpp"
#include "runner/judge/build.hpp"
#include "session/runs/run_code.hpp"

namespace cloche::session {

struct RunPlan {
  Language language;      // of a shell line: none, without a name
  std::string directory;  // the run's private one, absolute; empty: it needs none
  std::string source_path;
  std::string source;  // of a program, or of a shell line that is too long for an argument
  std::optional<ExecSpec> compile;
  ExecSpec run;  // without its input
  // Where the caller wants it to start, absolute; empty: in the workspace.
  std::string start;
  enum class StartIn { workspace, elsewhere } start_in = StartIn::workspace;
  runner::CommandOwner owner = runner::CommandOwner::caller;

  runner::Verdict judge(runner::StepKind step, const Outcome& outcome) const;
};

struct PlanContext {
  const LanguageRegistry& languages;
  const Profile& profile;
  const pool::Binding& binding;
  std::string shell;  // absolute; for a shell line
};

// `invalid_argument` for an unknown language and a request that makes no sense, `unsupported` for what the sandbox's
// shell cannot do.
Result<RunPlan> plan_run(const PlanContext& context, const RunRequest& request, Lifetime lifetime);

}  // namespace cloche::session
