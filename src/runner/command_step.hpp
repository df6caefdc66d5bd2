// What a command of a caller's own does, compile or run, and what is added to its stderr when it is ended by force. No
// I/O.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "runner/language_registry.hpp"
#include "runner/verdict.hpp"

namespace cloche::runner {

// The programs that do nothing but compile, by their names.
std::vector<std::string> compilers_of(const LanguageRegistry& languages);

// Compile: the command is a compiler, or a line for a shell that calls one and `err`, what it printed on stderr, has a
// compiler's complaint. The latter is the only verdict that anything printed has a part in: a shell does not tell which
// of its programs failed.
StepKind step_of(const std::vector<std::string>& compilers, const std::vector<std::string>& argv, std::string_view err);

// The exit code of a command that ran longer than allowed.
constexpr int timed_out_code = 124;

// Says at the end of stderr what the program could not: that it was ended by force, or not started.
void tell_forced_end(std::string& err, Cause cause, const Outcome& outcome, std::chrono::milliseconds timeout);

}  // namespace cloche::runner
