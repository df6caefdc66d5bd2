// Interaction: two programs in two sandboxes that talk with each other, each reading what the other prints.
#pragma once

#include "core/gate.hpp"
#include "runner/case_run.hpp"

namespace cloche::runner {

// The program's own failure counts when it comes first; else the interactor's exit code decides. Ends when both have
// ended: the interactor's word against the program stops it; when the interactor is content and gone, the program may
// go on to its end, within its limits. What is under way between them is bounded by what each may print.
Task<CaseReport> interact(const BuiltProgram& program, const Judge& interactor, const TestCase& test, Gate& pairs,
                          const ExecObserver& observer, Deadline deadline);

// What both may use; `limit_reached` when the pool can never lend the two together.
Status validate_pair(const BuiltProgram& program, const BuiltProgram& interactor);

}  // namespace cloche::runner
