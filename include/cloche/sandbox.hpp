/// @file
/// The library for plain blocking code. Needs nothing but the C++ standard library in its headers.
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
#include "cloche/script.hpp"
#include "cloche/spec.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// How a program ended, and what it printed. At most ExecSpec::keep_output of each is here.
struct RunResult {
  Outcome outcome;     ///< how it ended
  std::string out;     ///< what it printed on stdout
  std::string err;     ///< what it printed on stderr
  std::string events;  ///< what it wrote to its event descriptor; see ExecSpec::events
};

/// Told of output while a program runs; called on the engine's own thread, so it must be quick.
struct OutputListener {
  std::function<void(std::string_view)> out;    ///< bytes of stdout
  std::function<void(std::string_view)> err;    ///< bytes of stderr
  std::function<void(std::string_view)> event;  ///< bytes of the event descriptor
};

/// One sandbox; ends with the object, or goes back to the pool that has lent it. Paths of files are absolute, or
/// relative to the work directory, which they then cannot leave.
class CLOCHE_API Sandbox {
 public:
  /// The same for as long as it lives, and of no other on this host.
  const std::string& id() const;
  /// What it was made from.
  const SandboxSpec& spec() const;
  /// What runs it: crun, runc or runsc; on docker the engine's name for it.
  std::string runtime() const;

  /// Runs a program to its end.
  RunResult run(ExecSpec spec);
  /// Output goes to the listener as it comes, and not into the result.
  RunResult run(ExecSpec spec, OutputListener listener);

  /// Replaces a file that is there and may be written to; makes the directories on the way.
  void write_file(const std::string& path, std::string bytes, std::uint32_t mode = 0644);
  /// SandboxResourceError when it holds more than `most`.
  std::string read_file(const std::string& path, Bytes most = mib(64));
  /// Of what the path leads to: links are followed.
  Entry stat(const std::string& path);
  /// What a directory holds, without what is below that.
  EntryListing list(const std::string& path);
  /// A file, or a directory with all in it.
  void remove(const std::string& path);
  /// Those on the way too.
  void make_directory(const std::string& path);
  /// Replaces a file that is there. Atomic on one file system; else copied, then removed.
  void move(const std::string& from, const std::string& to);
  /// Replaces an exact text in a file of at most 16 MiB, all occurrences or none; says how many there were. The mode is
  /// kept. SandboxArgumentError when the text does not occur as often as expected.
  std::uint64_t edit(const std::string& path, Edit edit);
  /// What is below `path` and matches: `*`, `?`, `[..]` within a name, `**` over directories, `{a,b}`.
  EntryListing glob(const std::string& path, const std::string& pattern);
  /// Lines below `path` that match the regular expression (RE2's syntax).
  MatchListing grep(const std::string& path, const std::string& pattern);
  /// A tar stream, whole, into the directory `path`.
  void unpack(const std::string& path, std::string tar);
  /// What is at `path` as a tar stream, whole. SandboxResourceError when that has more than `most`.
  std::string pack(const std::string& path, Bytes most = mib(256));

  /// An interpreter that runs are forked from; see ExecSpec::zygote.
  void start_zygote(const std::string& name, std::vector<std::string> imports = {});
  /// Keeps a harness for scripts ready; a profile with `scripts` has one already.
  void prepare_scripts(ScriptHarness harness = {});
  /// Runs a script to its end, and tells the listener of its events meanwhile, on the engine's own thread.
  ScriptResult run_script(ScriptRequest request, ScriptListener listener = {});
  /// From now on. Sizes of file systems cannot be changed.
  void set_limits(Limits limits);
  /// As good as new, and proved to be; throws when it is not, and then the sandbox must be destroyed.
  void reset();
  /// Says what could not be removed; the destructor cannot.
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

/// Makes sandboxes on one backend, with a thread of its own. Sandboxes may outlive it; the last of them ends the
/// thread.
class CLOCHE_API Engine {
 public:
  /// SandboxArgumentError for an instance that is no name. What the host has is looked for at the first call.
  explicit Engine(EngineOptions options = {});
  Engine(Engine&&) noexcept;
  ~Engine();

  /// A sandbox that has said it is ready. SandboxUnavailableError when this host cannot enforce what the spec asks for.
  Sandbox create(SandboxSpec spec = {});
  /// Sandboxes that an earlier process of the same instance left behind, their files and background execs intact.
  std::vector<Sandbox> recover();
  /// What this host, or the engine, can do and what it lacks.
  std::vector<HostFinding> examine();

  struct CLOCHE_LOCAL Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cloche
