/// @file
/// Interactive and background programs, for blocking code.
///
///     cloche::ExecSpec adder{.argv = {"python3", "-uc", source}, .stdin_mode = cloche::Stdin::stream};
///     cloche::Process process(sandbox, adder);
///     process.write_stdin("1 2 3\n");
///     auto piece = process.next();       // output, or at the end the outcome
///
/// Calls may come from any thread: one may read while another writes. Errors are thrown (cloche/errors.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cloche/output.hpp"
#include "cloche/sandbox.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// Another name of Output.
using ProcessOutput = Output;

/// One running program. Destroying the object stops the program, unless it runs in the background. It must not outlive
/// its sandbox.
class CLOCHE_API Process {
 public:
  /// Starts a program. Its stdin must be closed or a stream; only Sandbox::run() accepts bytes.
  Process(Sandbox& sandbox, ExecSpec spec);
  /// Attaches to a background program: returns the output kept so far, further output, and the outcome. If no program
  /// has this id, next() throws SandboxNotFoundError.
  static Process attach(Sandbox& sandbox, std::uint64_t background_id);

  /// Waits for the next output or the outcome. Nothing follows the outcome.
  std::variant<Output, Outcome> next();
  /// Waits for the end. The result contains the output that next() has not returned yet.
  RunResult wait();
  /// Sends input to a program started with Stdin::stream. Returns when all of it was sent; waits while the program does
  /// not read.
  void write_stdin(std::string bytes);
  /// Closes the input of the program.
  void close_stdin();
  /// Sends a signal to the process group of the program.
  void signal(int number);
  /// Changes the size of the program's terminal, if it has one.
  void resize(TerminalSize size);
  /// Stops the whole process tree of the program. Its outcome is `cancelled`.
  void stop();
  /// Returns the id for attach(), or 0 for a foreground program.
  std::uint64_t background_id() const;

  struct CLOCHE_LOCAL Impl;
  explicit Process(std::unique_ptr<Impl> impl);
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  ~Process();

 private:
  std::unique_ptr<Impl> impl_;
};

/// A program that is running, or has run, in the background.
struct BackgroundProcess {
  std::uint64_t id = 0;             ///< The id for Process::attach.
  std::vector<std::string> argv;    ///< The command that was started.
  bool running = false;             ///< False if the program has ended. Attaching to it returns its outcome.
  std::chrono::milliseconds age{};  ///< Time since the start of the program.
};

/// Lists the programs started with Lifetime::background since the sandbox was created or reset.
CLOCHE_API std::vector<BackgroundProcess> background_processes(Sandbox& sandbox);

}  // namespace cloche
