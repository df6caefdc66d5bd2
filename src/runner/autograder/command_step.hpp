// Whether a caller's command compiles or runs, and what is added to its stderr when it is stopped. No I/O.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "language/language_registry.hpp"
#include "runner/judge/verdict.hpp"

namespace cloche::runner {

// The programs that do nothing but compile, by their names.
std::vector<std::string> compilers_of(const LanguageRegistry& languages);

// Compile: the command is a compiler, or a shell line that calls one and whose stderr `err` contains a compiler error.
// This is the only verdict that depends on output: a shell does not report which of its programs failed.
StepKind step_of(const std::vector<std::string>& compilers, const std::vector<std::string>& argv, std::string_view err);

// The exit code of a command that ran longer than allowed.
constexpr int timed_out_code = 124;

// Says at the end of stderr what the program could not: that it was ended by force, or not started.
void add_forced_end_message(std::string& err, Cause cause, const Outcome& outcome, std::chrono::milliseconds timeout);

}  // namespace cloche::runner
