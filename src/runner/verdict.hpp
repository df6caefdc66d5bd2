// From how a step ended to category and cause. No I/O, and no look at what was printed.
#pragma once

#include <string>

#include "cloche/submission.hpp"
#include "core/result.hpp"

namespace cloche::runner {

struct Verdict {
  Category category = Category::success;
  Cause cause = Cause::none;
  std::string reason;

  bool passed() const { return category == Category::success && cause == Cause::none; }
};

enum class StepKind {
  compile,
  run,
};

// Whose the command is: a tool of the language that is not there is no fault of the program.
enum class CommandOwner { language, caller };

Verdict judge_step(StepKind step, CommandOwner owner, const Outcome& outcome);

// Cloche could not do its work.
Verdict system_failure(const Error& error);

// What a checker's or an interactor's exit says: 0 is right, 1 is wrong, anything else its own failure. `words` is what
// it printed.
Verdict judge_by_program(std::string_view role, const Outcome& outcome, std::string_view words);

}  // namespace cloche::runner
