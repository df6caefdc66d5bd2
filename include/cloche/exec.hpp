// ExecSpec: one program to run, with all that is bound late: environment, secrets, limits, input.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cloche/bytes.hpp"

namespace cloche {

enum class Stdin {
  closed,  // /dev/null
  bytes,   // `input`, then its end
  stream,  // what write_stdin() sends; stays open until close_stdin()
};

enum class Lifetime {
  foreground,  // ends with the exec that started it
  background,  // lives until it ends, is stopped or the sandbox is reset; see Sandbox::background
};

struct TerminalSize {
  std::uint32_t rows = 24;
  std::uint32_t columns = 80;
};

struct Rlimit {
  int resource = 0;  // RLIMIT_*
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};

// A descriptor of the program's own for events, beside stdout and stderr: 3, as CLOCHE_EVENT_FD says.
struct EventPipe {
  Bytes keep = mib(1);   // the rest is counted and dropped
  Bytes stop = mib(64);  // a program that writes more is ended
};

struct ExecSpec {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // beside PATH, HOME, USER and LANG, which have sensible values
  std::string cwd;                         // empty: the sandbox's work directory
  std::optional<std::uint32_t> uid;        // unset: the sandbox's user
  std::optional<std::uint32_t> gid;
  Stdin stdin_mode = Stdin::closed;
  std::string input;
  std::optional<TerminalSize> terminal;  // stdin, stdout and stderr are one pty; all output comes on stdout
  std::optional<std::chrono::milliseconds> wall_limit = std::chrono::seconds(300);
  std::optional<std::chrono::milliseconds> cpu_limit;
  Bytes keep_output = mib(1);   // of stdout and of stderr; the rest is counted and dropped
  Bytes stop_output = mib(64);  // of each; a program that prints more is ended
  std::vector<Rlimit> rlimits;  // over those of the sandbox's limits
  std::uint32_t umask = 022;
  Lifetime lifetime = Lifetime::foreground;
  std::string zygote;               // forked from this zygote; argv[0] is the script
  std::optional<EventPipe> events;  // foreground only

  // A line for the sandbox's shell.
  static ExecSpec shell(std::string line) {
    ExecSpec spec;
    spec.argv = {"/bin/sh", "-c", std::move(line)};
    return spec;
  }
};

}  // namespace cloche
