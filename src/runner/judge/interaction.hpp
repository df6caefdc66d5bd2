// Interaction: two programs in two sandboxes that talk with each other, each reading what the other prints.
#pragma once

#include "core/async/gate.hpp"
#include "runner/judge/case_run.hpp"

namespace cloche::runner {

// A failure of the program counts if it comes first; otherwise the interactor's exit code decides. Ends when both have
// ended: a negative verdict of the interactor stops the program; if the interactor accepts and exits, the program may
// run to its end within its limits. The data in transit between them is limited by their output limits.
Task<CaseReport> interact(const BuiltProgram& program, const Judge& interactor, const TestCase& test, Gate& pairs,
                          const ExecObserver& observer, Deadline deadline);

// The limits of both; `limit_reached` if the pool can never lease two sandboxes at a time.
Status validate_pair(const BuiltProgram& program, const BuiltProgram& interactor);

}  // namespace cloche::runner
