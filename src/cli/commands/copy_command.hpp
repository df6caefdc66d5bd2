// `cloche sessions cp`: one file or directory, into a session or out of it.
#pragma once

#include "cli/command.hpp"

namespace cloche::cli {

void add_copy_command(CLI::App& sessions, Action& chosen);

}  // namespace cloche::cli
