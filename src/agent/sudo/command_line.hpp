// The command line of `sudo`: which command, as whom, with which environment. No I/O but the file of users.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sudo/sudo_protocol.hpp"

namespace cloche::agent {

// Who called it, and from where.
struct SudoCaller {
  std::vector<std::string> env;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string passwd;  // the text of /etc/passwd
};

// What to say and how to exit where there is nothing to run: a help text, or an error.
struct SudoExit {
  int code = 0;
  std::string text;  // for stdout if the code is 0, else for stderr
};

std::expected<SudoRequest, SudoExit> read_sudo_command(const std::vector<std::string>& args, const SudoCaller& caller);

}  // namespace cloche::agent
