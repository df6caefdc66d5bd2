// `cloche sessions pause` and `cloche sessions resume`.
#pragma once

#include "cli/command.hpp"

namespace cloche::cli {

void add_pause_commands(CLI::App& sessions, Action& chosen);

}  // namespace cloche::cli
