// `cloche sessions fork`, which is next to the commands for snapshots.
#pragma once

#include "cli/command.hpp"

namespace cloche::cli {

void add_fork_command(CLI::App& sessions, Action& chosen);

}  // namespace cloche::cli
