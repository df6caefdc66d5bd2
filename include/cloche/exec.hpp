/// @file
/// ExecSpec: one program to run, with all that is bound late: environment, secrets, limits, input.
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

/// What a program reads.
enum class Stdin {
  closed,  ///< /dev/null
  bytes,   ///< `input`, then its end
  stream,  ///< what write_stdin() sends; stays open until close_stdin()
};

/// How long a program may live.
enum class Lifetime {
  foreground,  ///< ends with the exec that started it
  background,  ///< lives until it ends, is stopped or the sandbox is reset; see Sandbox::background
};

/// Of a terminal, in characters.
struct TerminalSize {
  std::uint32_t rows = 24;     ///< lines
  std::uint32_t columns = 80;  ///< characters in a line
};

/// A limit of the kernel's for each process of the program; see setrlimit(2).
struct Rlimit {
  int resource = 0;        ///< rLIMIT_*
  std::uint64_t soft = 0;  ///< what is enforced
  std::uint64_t hard = 0;  ///< how far a process may raise it
};

/// A descriptor of the program's own for events, beside stdout and stderr: 3, as CLOCHE_EVENT_FD says.
struct EventPipe {
  Bytes keep = mib(1);   ///< the rest is counted and dropped
  Bytes stop = mib(64);  ///< a program that writes more is ended
};

/// One program and how it is to run.
struct ExecSpec {
  /// The program, found in PATH where it has no slash, and its arguments. No shell is between.
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  ///< beside PATH, HOME, USER and LANG, which have sensible values
  std::string cwd;                         ///< empty: the sandbox's work directory
  std::optional<std::uint32_t> uid;        ///< unset: the sandbox's user
  std::optional<std::uint32_t> gid;        ///< unset: the sandbox's group
  Stdin stdin_mode = Stdin::closed;        ///< what it reads
  std::string input;                       ///< with Stdin::bytes: what it reads
  std::optional<TerminalSize> terminal;    ///< stdin, stdout and stderr are one pty; all output comes on stdout
  /// Until it is ended with its whole tree; unset: never.
  std::optional<std::chrono::milliseconds> wall_limit = std::chrono::seconds(300);
  /// Of its whole tree, user and system time together; unset: no limit.
  std::optional<std::chrono::milliseconds> cpu_limit;
  Bytes keep_output = mib(1);                ///< of stdout and of stderr; the rest is counted and dropped
  Bytes stop_output = mib(64);               ///< of each; a program that prints more is ended
  std::vector<Rlimit> rlimits;               ///< over those of the sandbox's limits
  std::uint32_t umask = 022;                 ///< of the program
  Lifetime lifetime = Lifetime::foreground;  ///< with whom it ends
  std::string zygote;                        ///< forked from this zygote; argv[0] is the script
  std::optional<EventPipe> events;           ///< foreground only

  /// A line for the sandbox's shell.
  static ExecSpec shell(std::string line) {
    ExecSpec spec;
    spec.argv = {"/bin/sh", "-c", std::move(line)};
    return spec;
  }
};

}  // namespace cloche
