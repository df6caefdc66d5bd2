#include "cli/text/print.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "cloche/errors.hpp"
#include "json/write_json.hpp"

namespace cloche::cli {

int print_text(std::string_view text) {
  // Output that went through the C library before comes first.
  std::fflush(stdout);
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EPIPE) return 128 + SIGPIPE;
    if (n < 0) throw SandboxError(std::string("cannot write to stdout: ") + std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

int print_json(const boost::json::value& json) { return print_text(write_json(json) + "\n"); }

}  // namespace cloche::cli
