/// @file
/// ExecSpec: one program to run, with everything that is bound late: environment, secrets, limits and input.
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

/// The stdin of a program.
enum class Stdin {
  closed,  ///< /dev/null.
  bytes,   ///< The bytes of `input`.
  stream,  ///< What write_stdin() sends. It stays open until close_stdin().
};

/// How long a program may live.
enum class Lifetime {
  foreground,  ///< It ends with the object that started it.
  background,  ///< It lives until it ends, is stopped, or the sandbox is reset; see Sandbox::background.
};

/// The size of a terminal in characters.
struct TerminalSize {
  std::uint32_t rows = 24;     ///< The number of lines.
  std::uint32_t columns = 80;  ///< The number of characters per line.
};

/// A kernel limit for each process of the program; see setrlimit(2).
struct Rlimit {
  int resource = 0;        ///< One of the RLIMIT_* constants.
  std::uint64_t soft = 0;  ///< The enforced limit.
  std::uint64_t hard = 0;  ///< The limit up to which a process may raise the soft limit.
};

/// A separate descriptor of the program for events: number 3, also in the variable CLOCHE_EVENT_FD.
struct EventPipe {
  Bytes keep = mib(1);   ///< Bytes to keep. The rest is counted and dropped.
  Bytes stop = mib(64);  ///< A program that writes more is stopped.
};

/// One program and how to run it.
struct ExecSpec {
  /// The program, found in PATH if it has no slash, and its arguments. No shell is involved.
  std::vector<std::string> argv;
  /// Variables in addition to PATH, HOME, USER and LANG, which have default values.
  std::map<std::string, std::string> env;
  std::string cwd;                   ///< The working directory. Empty: the work directory of the sandbox.
  std::optional<std::uint32_t> uid;  ///< The user id. Unset: the user of the sandbox.
  std::optional<std::uint32_t> gid;  ///< The group id. Unset: the group of the sandbox.
  Stdin stdin_mode = Stdin::closed;  ///< The stdin of the program.
  std::string input;                 ///< The input for Stdin::bytes.
  /// If set, stdin, stdout and stderr are one pty, and all output is reported as stdout.
  std::optional<TerminalSize> terminal;
  /// The time limit, after which the whole process tree is stopped. Unset: no limit.
  std::optional<std::chrono::milliseconds> wall_limit = std::chrono::seconds(300);
  /// The limit of user plus system time of the whole process tree. Unset: no limit.
  std::optional<std::chrono::milliseconds> cpu_limit;
  Bytes keep_output = mib(1);   ///< Bytes of stdout and of stderr to keep. The rest is counted and dropped.
  Bytes stop_output = mib(64);  ///< The limit of stdout and of stderr. A program that prints more is stopped.
  std::vector<Rlimit> rlimits;  ///< Kernel limits that replace those of the sandbox.
  std::uint32_t umask = 022;    ///< The umask of the program.
  Lifetime lifetime = Lifetime::foreground;  ///< When the program ends.
  std::string zygote;                        ///< The zygote to fork the program from. argv[0] is then the script.
  std::optional<EventPipe> events;           ///< The event descriptor. Foreground programs only.

  /// Returns a spec that runs a command line in the sandbox's shell.
  static ExecSpec shell(std::string line) {
    ExecSpec spec;
    spec.argv = {"/bin/sh", "-c", std::move(line)};
    return spec;
  }
};

}  // namespace cloche
