// From how a step ended to category and cause. No I/O, and independent of the output.
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

// The owner of the command: a missing tool of the language is not the program's fault.
enum class CommandOwner { language, caller };

Verdict judge_step(StepKind step, CommandOwner owner, const Outcome& outcome);

// Cloche could not do its work.
Verdict system_failure(const Error& error);

// The meaning of a checker's or an interactor's exit code: 0 is right, 1 is wrong, anything else is its own failure.
// `words` is its output.
Verdict judge_by_program(std::string_view role, const Outcome& outcome, std::string_view words);

}  // namespace cloche::runner
