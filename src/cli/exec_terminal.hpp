// A program on a terminal in a session, connected to this command's own terminal.
#pragma once

#include "cli/client/service.hpp"
#include "cli/exec_request.hpp"

namespace cloche::cli {

// stdin and stdout must be terminals. The terminal is as it was when this returns or throws. The exit code is the
// program's own, or 128 and the number of the signal that ended this command.
Task<Result<int>> exec_on_terminal(Service& service, ExecArguments args);

}  // namespace cloche::cli
