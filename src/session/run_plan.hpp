// From a request to what is done for it in a session's sandbox. No I/O.
#pragma once

#include <string>

#include "pool/lease.hpp"
#include "runner/build.hpp"
#include "session/run_code.hpp"

namespace cloche::session {

struct RunPlan {
  Language language;      // of a shell line: none, without a name
  std::string directory;  // the run's private one, absolute; empty: it needs none
  std::string source_path;
  std::string source;
  std::optional<ExecSpec> compile;
  ExecSpec run;  // without its input
  runner::CommandOwner owner = runner::CommandOwner::caller;

  runner::Verdict judge(runner::StepKind step, const Outcome& outcome) const;
};

struct PlanContext {
  const LanguageRegistry& languages;
  const Profile& profile;
  const pool::Binding& binding;
  std::string shell;  // absolute; for a shell line
};

// `invalid_argument` for an unknown language and a request that makes no sense.
Result<RunPlan> plan_run(const PlanContext& context, const RunRequest& request, Lifetime lifetime);

}  // namespace cloche::session
