/// @file
/// The library for coroutines. Everything runs on the given executor, which must have one thread (or be a strand).
/// Errors are thrown (see cloche/errors.hpp). Blocking code uses cloche/sandbox.hpp instead.
///
/// With g++ 12, give a spec a name before you pass it: `ExecSpec spec; …; co_await sandbox.run(std::move(spec));`. That
/// compiler destroys a braced temporary inside a co_await expression twice.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cloche/engine_options.hpp"
#include "cloche/errors.hpp"
#include "cloche/exec.hpp"
#include "cloche/files.hpp"
#include "cloche/outcome.hpp"
#include "cloche/output.hpp"
#include "cloche/script.hpp"
#include "cloche/spec.hpp"
#include "cloche/visibility.hpp"

namespace cloche::async {

/// The return type of every call that takes time: a coroutine to await on the executor of the engine.
template <class T = void>
using Task = boost::asio::awaitable<T>;

using cloche::Output;     ///< See cloche/output.hpp.
using cloche::RunResult;  ///< See cloche/output.hpp.

/// One running program. Destroying the object stops the program, unless it runs in the background.
class CLOCHE_API Exec {
 public:
  /// Returns the next output, or the outcome. Nothing follows the outcome.
  Task<std::variant<Output, Outcome>> next();
  /// Sends input to a program started with Stdin::stream. Returns when all of it was sent; waits while the program does
  /// not read.
  Task<> write_stdin(std::string bytes);
  /// Closes the input of the program.
  void close_stdin();
  /// Sends a signal to the process group of the program.
  void signal(int number);
  /// Changes the size of the program's terminal, if it has one.
  void resize(TerminalSize size);
  /// Stops the whole process tree of the program. Its outcome is `cancelled`.
  void stop();
  /// Returns the id for Sandbox::attach, or 0 for a foreground program.
  std::uint64_t background_id() const;

  struct CLOCHE_LOCAL Impl;
  Exec();  ///< Creates an empty object that can only be assigned to.
  explicit Exec(std::unique_ptr<Impl> impl);
  Exec(Exec&&) noexcept;
  Exec& operator=(Exec&&) noexcept;
  ~Exec();

 private:
  std::unique_ptr<Impl> impl_;
};

/// A program that is running, or has run, in the background.
struct BackgroundExec {
  std::uint64_t id = 0;             ///< The id for Sandbox::attach.
  std::vector<std::string> argv;    ///< The command that was started.
  bool running = false;             ///< False if the program has ended. Attaching to it returns its outcome.
  std::chrono::milliseconds age{};  ///< Time since the start of the program.
};

/// One sandbox. Destroying the object without destroy() hands the sandbox to its engine, which removes it. File paths
/// are absolute, or relative to the work directory. A relative path cannot leave the work directory.
class CLOCHE_API Sandbox {
 public:
  /// Returns the id, which never changes and is unique on this host.
  const std::string& id() const;
  /// Returns the spec that the sandbox was created from.
  const SandboxSpec& spec() const;
  /// Returns the name of the runtime: crun, runc or runsc; on docker, the engine's name for it.
  std::string runtime() const;

  /// Starts a program. Its stdin must be closed or a stream; only run() accepts bytes.
  Task<Exec> start(ExecSpec spec);
  /// Runs a program to its end. Throws SandboxTimeoutError only if the sandbox does not respond long after the limits
  /// of the program have passed.
  Task<RunResult> run(ExecSpec spec);

  /// Lists the programs started with Lifetime::background since the sandbox was created or reset.
  Task<std::vector<BackgroundExec>> background();
  /// Attaches to a background program: returns the output kept so far, further output, and the outcome. If no program
  /// has this id, next() throws SandboxNotFoundError.
  Task<Exec> attach(std::uint64_t background_id);

  /// Writes a file and creates its parent directories. Replaces an existing file.
  Task<> write_file(std::string path, std::string bytes, std::uint32_t mode = 0644);
  /// Reads a file. Throws SandboxResourceError if it has more than `most` bytes.
  Task<std::string> read_file(std::string path, Bytes most = mib(64));
  /// Returns information about what a path points to. Symbolic links are followed.
  Task<Entry> stat(std::string path);
  /// Lists a directory, without the contents of its subdirectories.
  Task<EntryListing> list(std::string path);
  /// Removes a file, or a directory with everything in it.
  Task<> remove(std::string path);
  /// Creates a directory and its parent directories.
  Task<> make_directory(std::string path);
  /// Moves a file or directory. Replaces an existing file.
  Task<> move(std::string from, std::string to);
  /// Replaces an exact text in a file and returns the number of occurrences. See the blocking Sandbox::edit.
  Task<std::uint64_t> edit(std::string path, Edit edit);
  /// Finds files below `path` by a pattern: `*`, `?` and `[..]` within a name, `**` across directories, `{a,b}`.
  Task<EntryListing> glob(std::string path, std::string pattern);
  /// Finds lines below `path` that match a regular expression (RE2 syntax).
  Task<MatchListing> grep(std::string path, std::string pattern);
  /// Unpacks a complete tar stream into the directory `path`.
  Task<> unpack(std::string path, std::string tar);
  /// Packs `path` into a complete tar stream. Throws SandboxResourceError if that has more than `most` bytes.
  Task<std::string> pack(std::string path, Bytes most = mib(256));

  /// Starts an interpreter that runs can be forked from; see ExecSpec::zygote.
  Task<> start_zygote(std::string name, std::vector<std::string> imports);
  /// Keeps a harness for scripts ready. Profiles with `scripts` already have one.
  Task<> prepare_scripts(ScriptHarness harness);
  /// Runs a script to its end.
  Task<ScriptResult> run_script(ScriptRequest request);
  /// Runs a script to its end and passes each event to the listener.
  Task<ScriptResult> run_script(ScriptRequest request, ScriptListener listener);
  /// Changes the limits. The sizes of file systems cannot be changed.
  Task<> set_limits(Limits limits);
  /// Resets the sandbox to its initial state and verifies that it is clean. If this throws, destroy the sandbox.
  Task<> reset();
  /// Removes the sandbox and everything in it. Every call afterwards throws SandboxLostError.
  Task<> destroy();

  struct CLOCHE_LOCAL Impl;
  Sandbox();  ///< Creates an empty object that can only be assigned to.
  explicit Sandbox(std::unique_ptr<Impl> impl);
  Sandbox(Sandbox&&) noexcept;
  Sandbox& operator=(Sandbox&&) noexcept;
  ~Sandbox();
  Impl* impl() const { return impl_.get(); }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Creates sandboxes on one backend.
class CLOCHE_API Engine {
 public:
  /// Throws SandboxArgumentError if the instance name is invalid. The host is examined at the first call.
  Engine(boost::asio::any_io_executor executor, EngineOptions options = {});
  Engine(Engine&&) noexcept;
  ~Engine();

  /// Creates a sandbox that is ready for use. Throws SandboxUnavailableError if this host cannot enforce the spec.
  Task<Sandbox> create(SandboxSpec spec);
  /// Creates a sandbox with default options.
  Task<Sandbox> create();
  /// Returns the sandboxes that an earlier process of the same instance left, with their files and background programs.
  Task<std::vector<Sandbox>> recover();
  /// Reports what this host or engine supports and what is missing.
  Task<std::vector<HostFinding>> examine();
  /// Removes the sandboxes that were released without destroy(). Call this before the executor stops.
  Task<> close();

  struct CLOCHE_LOCAL Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cloche::async
