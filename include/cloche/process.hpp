/// @file
/// Programs that one talks with, or that stay in the background, for plain blocking code.
///
///     cloche::ExecSpec adder{.argv = {"python3", "-uc", source}, .stdin_mode = cloche::Stdin::stream};
///     cloche::Process process(sandbox, adder);
///     process.write_stdin("1 2 3\n");
///     auto piece = process.next();       // output, or in the end the outcome
///
/// Calls may come from any thread: one may read while another writes. Errors are thrown (cloche/errors.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cloche/sandbox.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// Bytes a program printed, or wrote to its event descriptor.
struct ProcessOutput {
  /// stdout, stderr or the event descriptor.
  enum class Source { out, err, event };
  Source source = Source::out;  ///< where they were written to
  std::string bytes;            ///< as they came; a piece may end anywhere
};

/// One running program. Destroying it before its end stops the program, unless it runs in the background. It must not
/// outlive its sandbox.
class CLOCHE_API Process {
 public:
  /// Starts it. Stdin is closed or a stream; only Sandbox::run() takes bytes.
  Process(Sandbox& sandbox, ExecSpec spec);
  /// A program in the background: output kept so far, what follows, and the outcome. When there is none of that id,
  /// next() throws SandboxNotFoundError.
  static Process attach(Sandbox& sandbox, std::uint64_t background_id);

  /// Waits for the next output, or for the outcome, after which there is nothing more.
  std::variant<ProcessOutput, Outcome> next();
  /// To the end. The result has the output that next() has not given yet.
  RunResult wait();
  /// For Stdin::stream. Returns when all of it is on its way; waits while the program does not read.
  void write_stdin(std::string bytes);
  /// The program reads the end of its input.
  void close_stdin();
  /// To the program's process group.
  void signal(int number);
  /// Of the program's terminal, where it has one.
  void resize(TerminalSize size);
  /// Ends the whole tree of the program; its outcome says `cancelled`.
  void stop();
  /// To find it again with attach(); 0 for a program in the foreground.
  std::uint64_t background_id() const;

  struct CLOCHE_LOCAL Impl;
  explicit Process(std::unique_ptr<Impl> impl);
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  ~Process();

 private:
  std::unique_ptr<Impl> impl_;
};

/// A program that runs, or has run, in the background.
struct BackgroundProcess {
  std::uint64_t id = 0;             ///< for Process::attach
  std::vector<std::string> argv;    ///< what was started
  bool running = false;             ///< false: it has ended, and who attaches is told how
  std::chrono::milliseconds age{};  ///< since it was started
};

/// What Lifetime::background has started since the sandbox was made or reset.
CLOCHE_API std::vector<BackgroundProcess> background_processes(Sandbox& sandbox);

}  // namespace cloche
