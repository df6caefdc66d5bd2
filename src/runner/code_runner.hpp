// CodeRunner: from source to verdicts: compiles once, runs each case in a sandbox that no other case has touched,
// checks.
#pragma once

#include "core/async/gate.hpp"
#include "language/language_registry.hpp"
#include "pool/manager.hpp"
#include "runner/judge/program_plan.hpp"

namespace cloche::runner {

class CodeRunner {
 public:
  // The manager outlives the runner.
  CodeRunner(Executor executor, pool::Manager& manager, LanguageRegistry languages);

  const LanguageRegistry& languages() const { return languages_; }
  pool::Manager& manager() const { return manager_; }

  // A language that there is a pool for, as the tenant sees it. `Unsupported language: …`, also for one that is known
  // and has none; it says what to do.
  Result<Language> find_served(std::string_view name, const std::string& tenant) const;

  // An error means that no verdict is possible: unknown language, invalid submission, or no sandbox available. If one
  // case fails for other reasons, that case is a system_error and the others continue. A cancelled caller gets the
  // exception after everything has ended.
  Task<Result<Report>> run(Submission submission, Deadline deadline = Deadline::never());

 private:
  Executor executor_;
  pool::Manager& manager_;
  LanguageRegistry languages_;
  // Only one at a time claims two sandboxes; else two could hold one each and wait for the other's.
  Gate pairs_;
};

}  // namespace cloche::runner
