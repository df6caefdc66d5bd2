// From the end of a one-shot run to its result. No I/O.
#pragma once

#include "cloche/one_shot.hpp"
#include "runner/judge/verdict.hpp"
#include "sandbox/exec.hpp"

namespace cloche::runner {

constexpr const char* timed_out_message = "Execution timed out";

OneShotResult to_one_shot_result(StepKind step, Exec::Collected ran);

// The sandbox did not answer long after the program's own timeout.
OneShotResult given_up();

// Without white space at both ends.
std::string_view trimmed(std::string_view text);

// Newlines between, none at the end.
std::string joined_lines(const std::vector<std::string>& lines);

}  // namespace cloche::runner
