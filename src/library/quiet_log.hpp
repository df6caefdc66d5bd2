// Log messages of the library in programs that have not set up a log.
#pragma once

namespace cloche {

// A library must not write to the stdout of its program, which spdlog does by default: warnings and errors go to
// stderr. If a program sets up spdlog, before or after, its settings are used.
void keep_log_off_stdout();

}  // namespace cloche
