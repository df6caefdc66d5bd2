// A run in a session, its output passed on as it comes. Ctrl-C reaches the program, and ends it if it does not listen.
#pragma once

#include "cli/client/run_stream.hpp"
#include "cli/exec_request.hpp"

namespace cloche::cli {

// The exit code: the program's own, or 128 and the number of the signal that ended this command.
Task<Result<int>> exec_live(Service& service, ExecRequest request);

// What people see about a result besides its output, on stderr: compiler messages, a limit that was reached,
// truncation.
void explain_result(const boost::json::object& result);

}  // namespace cloche::cli
