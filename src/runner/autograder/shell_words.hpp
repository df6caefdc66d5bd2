// A command line split into words as a shell would split it, and nothing else of a shell: no variables, no globs, no
// operators.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::runner {

// nullopt when a quote is not closed or a backslash stands at the end.
std::optional<std::vector<std::string>> split_words(std::string_view line);

// The program and its arguments. A line that cannot be split is a shell's to understand: `sh -c` is given it.
std::vector<std::string> command_argv(std::string_view line);

}  // namespace cloche::runner
