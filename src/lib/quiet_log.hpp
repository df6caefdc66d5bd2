// What the library says while it works, in programs that have not set up a log.
#pragma once

namespace cloche {

// A library has no business on its program's stdout, where spdlog writes unless it is told otherwise: warnings and
// errors go to stderr. A program that has set up spdlog, before or after, has its own way.
void keep_log_off_stdout();

}  // namespace cloche
