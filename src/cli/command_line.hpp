// The whole command line of `cloche`: every command, and what all of them take.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace cloche::cli {

struct GeneralFlags {
  std::string log_level = "warn";
  std::string color = "auto";
};

// `flags` and `chosen` outlive the parser.
void set_up_command_line(CLI::App& app, GeneralFlags& flags, Action& chosen);

}  // namespace cloche::cli
