// The program `sudo` of a sandbox: asks the agent to run a command as another user, gives it this process's
// descriptors, passes on signals, and exits as the command does.
#pragma once

namespace cloche::agent {

[[noreturn]] void run_sudo(int argc, char** argv);

}  // namespace cloche::agent
