// ShellContext: a shell in a sandbox in which commands follow each other; directory, variables, functions, options and
// background jobs live on.
//
// The shell reports a command's end and exit code on a separate descriptor, after all output of the command; text that
// looks like a prompt or a marker is ordinary output. After a timeout, processes of the command are ended, and with
// both bash and sh the shell abandons the command altogether: nothing after it runs. A shell that ends during a command
// (exit, set -e, a timeout) passes its state to a successor. One that cannot (exec, kill -9, a trap on EXIT) is lost;
// the result says so, and the next command gets a new shell in the same directory.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "context/command.hpp"
#include "context/context_core.hpp"
#include "core/async/task_group.hpp"

namespace cloche {

struct ShellContextOptions {
  enum class Shell { bash_or_sh, sh } shell = Shell::bash_or_sh;  // bash where there is one
  std::map<std::string, std::string> env;                         // beside those that every program has
  std::string directory;                                          // empty: the sandbox's work directory
  std::chrono::milliseconds grace = std::chrono::seconds(2);      // for a command to end after each try to end it
};

class ShellDialect;

// Destroying it ends the shell and all that it started.
class ShellContext {
 public:
  // Starts a shell. The sandbox must live as long as the context.
  static Task<Result<std::unique_ptr<ShellContext>>> open(LiveSandbox& sandbox, ShellContextOptions options,
                                                          Deadline deadline);

  // Runs a command, after those that were asked for before. The deadline is the caller's own, over
  // the command's limit and the time it waits for its turn: when it passes, or the caller is cancelled, the command is
  // ended and the answer is a timeout error.
  Task<Result<CommandResult>> run(CommandRequest request, OutputSink sink, Deadline deadline = Deadline::never());

  // A new shell, in its turn; the former one ends, and all that it started.
  Task<Status> restart(Deadline deadline) { return core_.restart(deadline); }
  // Ends it; waits until it is gone. Calls under way fail.
  Task<> close();
  bool alive() const { return core_.alive(); }
  // Where the shell was at the end of the last command; empty before the first one.
  const std::string& directory() const;

  // Not started: the first command, or restart(), does that.
  ShellContext(Executor executor, LiveSandbox& sandbox, ShellContextOptions options);

 private:
  ShellContext(Executor executor, LiveSandbox& sandbox, std::unique_ptr<ShellDialect> dialect);

  class InputFile;

  LiveSandbox& sandbox_;
  ShellDialect* dialect_;  // the core's
  ContextCore core_;
  TaskGroup removals_;  // of input that is no longer needed
};

}  // namespace cloche
