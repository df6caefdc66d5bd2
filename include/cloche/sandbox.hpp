/// @file
/// The library for blocking code. The headers need only the C++ standard library.
///
///     cloche::Engine engine;
///     auto sandbox = engine.create();
///     auto result = sandbox.run({.argv = {"python3", "-c", "print(6 * 7)"}});
///     // result.out == "42\n", result.outcome.success()
///
/// Calls may come from any thread. Errors are thrown (cloche/errors.hpp); how a program ended is an Outcome.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
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

namespace cloche {

/// Callbacks for output of a running program. They are called on the engine's thread and must return quickly.
struct OutputListener {
  std::function<void(std::string_view)> out;    ///< Called with bytes of stdout.
  std::function<void(std::string_view)> err;    ///< Called with bytes of stderr.
  std::function<void(std::string_view)> event;  ///< Called with bytes of the event descriptor.
};

/// One sandbox. The destructor removes it, or returns it to the pool that leased it. File paths are absolute, or
/// relative to the work directory. A relative path cannot leave the work directory.
class CLOCHE_API Sandbox {
 public:
  /// Returns the id, which never changes and is unique on this host.
  const std::string& id() const;
  /// Returns the spec that the sandbox was created from.
  const SandboxSpec& spec() const;
  /// Returns the name of the runtime: crun, runc or runsc; on docker, the engine's name for it.
  std::string runtime() const;

  /// Runs a program to its end.
  RunResult run(ExecSpec spec);
  /// Runs a program to its end and passes output to the listener instead of the result.
  RunResult run(ExecSpec spec, OutputListener listener);

  /// Writes a file and creates its parent directories. Replaces an existing file if it is writable.
  void write_file(const std::string& path, std::string bytes, std::uint32_t mode = 0644);
  /// Reads a file. Throws SandboxResourceError if it has more than `most` bytes.
  std::string read_file(const std::string& path, Bytes most = mib(64));
  /// Returns information about what a path points to. Symbolic links are followed.
  Entry stat(const std::string& path);
  /// Lists a directory, without the contents of its subdirectories.
  EntryListing list(const std::string& path);
  /// Removes a file, or a directory with everything in it.
  void remove(const std::string& path);
  /// Creates a directory and its parent directories.
  void make_directory(const std::string& path);
  /// Moves a file or directory. Replaces an existing file. This is atomic within one file system; otherwise it copies
  /// and then removes.
  void move(const std::string& from, const std::string& to);
  /// Replaces an exact text in a file of at most 16 MiB, either all occurrences or none, and returns their number.
  /// Keeps the mode of the file. Throws SandboxArgumentError if the text does not occur as often as expected.
  std::uint64_t edit(const std::string& path, Edit edit);
  /// Finds files below `path` by a pattern: `*`, `?` and `[..]` within a name, `**` across directories, `{a,b}`.
  EntryListing glob(const std::string& path, const std::string& pattern);
  /// Finds lines below `path` that match a regular expression (RE2 syntax).
  MatchListing grep(const std::string& path, const std::string& pattern);
  /// Unpacks a complete tar stream into the directory `path`.
  void unpack(const std::string& path, std::string tar);
  /// Packs `path` into a complete tar stream. Throws SandboxResourceError if that has more than `most` bytes.
  std::string pack(const std::string& path, Bytes most = mib(256));

  /// Starts an interpreter that runs can be forked from; see ExecSpec::zygote.
  void start_zygote(const std::string& name, std::vector<std::string> imports = {});
  /// Keeps a harness for scripts ready. Profiles with `scripts` already have one.
  void prepare_scripts(ScriptHarness harness = {});
  /// Runs a script to its end and passes its events to the listener, on the engine's thread.
  ScriptResult run_script(ScriptRequest request, ScriptListener listener = {});
  /// Changes the limits. The sizes of file systems cannot be changed.
  void set_limits(Limits limits);
  /// Resets the sandbox to its initial state and verifies that it is clean. If this throws, destroy the sandbox.
  void reset();
  /// Removes the sandbox. Throws if it could not be removed, which the destructor cannot do.
  void destroy();

  struct CLOCHE_LOCAL Impl;
  explicit Sandbox(std::unique_ptr<Impl> impl);
  Sandbox(Sandbox&&) noexcept;
  Sandbox& operator=(Sandbox&&) noexcept;
  ~Sandbox();
  Impl* impl() const { return impl_.get(); }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Creates sandboxes on one backend, with its own thread. Sandboxes may outlive the engine; the last of them ends the
/// thread.
class CLOCHE_API Engine {
 public:
  /// Throws SandboxArgumentError if the instance name is invalid. The host is examined at the first call.
  explicit Engine(EngineOptions options = {});
  Engine(Engine&&) noexcept;
  ~Engine();

  /// Creates a sandbox that is ready for use. Throws SandboxUnavailableError if this host cannot enforce the spec.
  Sandbox create(SandboxSpec spec = {});
  /// Returns the sandboxes that an earlier process of the same instance left, with their files and background programs.
  std::vector<Sandbox> recover();
  /// Reports what this host or engine supports and what is missing.
  std::vector<HostFinding> examine();

  struct CLOCHE_LOCAL Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cloche
