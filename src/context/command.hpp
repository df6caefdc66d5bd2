// A command: how it reaches the driver in the shell, and what the driver says of its begin and end. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "context/call_result.hpp"
#include "core/result.hpp"

namespace cloche {

struct CommandRequest {
  std::string command;  // anything but a NUL byte
  std::string input;    // the command's stdin
  std::chrono::milliseconds wall_limit = std::chrono::seconds(60);
  ContextCaps caps;
};

struct CommandResult : CallResult {
  int exit_code = 0;  // as the shell says it; 124 after a timeout
};

// Refuses what makes no sense.
Status validate(const CommandRequest& request);

// One line that the driver reads: the command with every byte that could end or change the line escaped. `input` is a
// file of the sandbox without blanks in its name; empty: stdin is as it was.
std::string to_driver_line(const std::string& id, std::string_view input, std::string_view command);

// The state before the command: processes that started earlier, or are jobs of the shell, do not belong to the command.
struct CommandBegin {
  std::string mark = "0";  // the time since boot, in hundredths of a second
  std::vector<std::uint32_t> jobs;
};
CommandBegin parse_begin(std::string_view rest);

struct CommandEnd {
  int exit_code = 0;
  std::string directory;
};
std::optional<CommandEnd> parse_end(std::string_view rest);

}  // namespace cloche
