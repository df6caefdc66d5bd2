// prepare: makes what the programs of a sandbox need in a system that Cloche did not make: a directory for the work, a
// home directory and a line for the user. A backend runs `cloche-agent prepare` before it starts the agent where it can
// start programs but cannot prepare the file system itself.
#pragma once

#include <string>

#include "core/result.hpp"
#include "core/user_lines.hpp"

namespace cloche::agent {

struct Preparation {
  SandboxUser user;
  std::string work_dir;
};

// From the arguments of the verb: NAME UID GID HOME WORK_DIR. invalid_argument for anything that a server does not
// send.
Result<Preparation> parse_preparation(int count, char** arguments);

// A directory that is there must belong to the user, or be empty: then it becomes the user's. Any other is an error, so
// that no directory of the system changes hands. Directories above are created for root. `etc`: where passwd and group
// are.
Status prepare(const Preparation& wanted, const std::string& etc = "/etc");

// The verb: 0, or 1 with the error on stderr.
int run_prepare(int count, char** arguments);

}  // namespace cloche::agent
