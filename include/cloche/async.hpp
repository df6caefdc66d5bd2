/// @file
/// The library for coroutines. Everything runs on the executor given, which must be of one thread (or a strand); errors
/// are thrown (cloche/errors.hpp). Plain blocking code uses cloche/sandbox.hpp instead.
///
/// With g++ 12, name a spec before you pass it: `ExecSpec spec; …; co_await sandbox.run(std::move(spec));`. That
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
#include "cloche/script.hpp"
#include "cloche/spec.hpp"
#include "cloche/visibility.hpp"

namespace cloche::async {

/// What every call that takes time returns: a coroutine to be awaited on the executor that the engine was given.
template <class T = void>
using Task = boost::asio::awaitable<T>;

/// Bytes a program printed, or wrote to its event descriptor.
struct Output {
  /// stdout, stderr or the event descriptor.
  enum class Source { out, err, event };
  Source source = Source::out;  ///< where they were written to
  std::string bytes;            ///< as they came; a piece may end anywhere
};

/// One running program. Destroying it before its end stops the program, unless it runs in the background.
class CLOCHE_API Exec {
 public:
  /// The next output, or the outcome, after which there is nothing more.
  Task<std::variant<Output, Outcome>> next();
  /// For Stdin::stream. Returns when all of it is on its way; waits while the program does not read.
  Task<> write_stdin(std::string bytes);
  /// The program reads the end of its input.
  void close_stdin();
  /// To the program's process group.
  void signal(int number);
  /// Of the program's terminal, where it has one.
  void resize(TerminalSize size);
  /// Ends the whole tree of the program; its outcome says `cancelled`.
  void stop();
  /// To find it again with Sandbox::attach; 0 for a program in the foreground.
  std::uint64_t background_id() const;

  struct CLOCHE_LOCAL Impl;
  Exec();  ///< none; only good for being assigned to
  explicit Exec(std::unique_ptr<Impl> impl);
  Exec(Exec&&) noexcept;
  Exec& operator=(Exec&&) noexcept;
  ~Exec();

 private:
  std::unique_ptr<Impl> impl_;
};

/// How a program ended, and what it printed. At most ExecSpec::keep_output of each is here.
struct RunResult {
  Outcome outcome;     ///< how it ended
  std::string out;     ///< what it printed on stdout
  std::string err;     ///< what it printed on stderr
  std::string events;  ///< what it wrote to its event descriptor; see ExecSpec::events
};

/// A program that runs, or has run, in the background.
struct BackgroundExec {
  std::uint64_t id = 0;             ///< for Sandbox::attach
  std::vector<std::string> argv;    ///< what was started
  bool running = false;             ///< false: it has ended, and who attaches is told how
  std::chrono::milliseconds age{};  ///< since it was started
};

/// One sandbox. Destroying the object without destroy() hands the sandbox to its engine, which ends it. Paths of files
/// are absolute, or relative to the work directory, which they then cannot leave.
class CLOCHE_API Sandbox {
 public:
  /// The same for as long as it lives, and of no other on this host.
  const std::string& id() const;
  /// What it was made from.
  const SandboxSpec& spec() const;
  /// What runs it: crun, runc or runsc; on docker the engine's name for it.
  std::string runtime() const;

  /// Stdin is closed or a stream; only run() takes bytes.
  Task<Exec> start(ExecSpec spec);
  /// Runs a program to its end. A timeout is thrown only when the sandbox does not answer long after the program's own
  /// limits have passed.
  Task<RunResult> run(ExecSpec spec);

  /// What Lifetime::background has started since the sandbox was made or reset.
  Task<std::vector<BackgroundExec>> background();
  /// A background program: output kept so far, what follows, and the outcome. When there is none of that id, next()
  /// throws SandboxNotFoundError.
  Task<Exec> attach(std::uint64_t background_id);

  /// Replaces a file that is there; makes the directories on the way.
  Task<> write_file(std::string path, std::string bytes, std::uint32_t mode = 0644);
  /// SandboxResourceError when it holds more than `most`.
  Task<std::string> read_file(std::string path, Bytes most = mib(64));
  /// Of what the path leads to: links are followed.
  Task<Entry> stat(std::string path);
  /// What a directory holds, without what is below that.
  Task<EntryListing> list(std::string path);
  /// A file, or a directory with all in it.
  Task<> remove(std::string path);
  /// Those on the way too.
  Task<> make_directory(std::string path);
  /// Replaces a file that is there.
  Task<> move(std::string from, std::string to);
  /// Replaces an exact text in a file; says how often it occurred. See the blocking Sandbox::edit.
  Task<std::uint64_t> edit(std::string path, Edit edit);
  /// What is below `path` and matches: `*`, `?`, `[..]` within a name, `**` over directories, `{a,b}`.
  Task<EntryListing> glob(std::string path, std::string pattern);
  /// Lines below `path` that match the regular expression (RE2's syntax).
  Task<MatchListing> grep(std::string path, std::string pattern);
  /// A tar stream, whole, into the directory `path`.
  Task<> unpack(std::string path, std::string tar);
  /// What is at `path` as a tar stream, whole. SandboxResourceError when that has more than `most`.
  Task<std::string> pack(std::string path, Bytes most = mib(256));

  /// An interpreter that runs are forked from; see ExecSpec::zygote.
  Task<> start_zygote(std::string name, std::vector<std::string> imports);
  /// Keeps a harness for scripts ready; a profile with `scripts` has one already.
  Task<> prepare_scripts(ScriptHarness harness);
  /// Runs a script to its end.
  Task<ScriptResult> run_script(ScriptRequest request);
  /// The same, with each event told to the listener meanwhile.
  Task<ScriptResult> run_script(ScriptRequest request, ScriptListener listener);
  /// From now on. Sizes of file systems cannot be changed.
  Task<> set_limits(Limits limits);
  /// As good as new, and proved to be; throws when it is not, and then the sandbox must be destroyed.
  Task<> reset();
  /// Ends it and all in it. SandboxLostError from every call afterwards.
  Task<> destroy();

  struct CLOCHE_LOCAL Impl;
  Sandbox();  ///< none; only good for being assigned to
  explicit Sandbox(std::unique_ptr<Impl> impl);
  Sandbox(Sandbox&&) noexcept;
  Sandbox& operator=(Sandbox&&) noexcept;
  ~Sandbox();
  Impl* impl() const { return impl_.get(); }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Makes sandboxes on one backend.
class CLOCHE_API Engine {
 public:
  /// SandboxArgumentError for an instance that is no name. What the host has is looked for at the first call.
  Engine(boost::asio::any_io_executor executor, EngineOptions options = {});
  Engine(Engine&&) noexcept;
  ~Engine();

  /// A sandbox that has said it is ready. SandboxUnavailableError when this host cannot enforce what the spec asks for.
  Task<Sandbox> create(SandboxSpec spec);
  /// One of all defaults.
  Task<Sandbox> create();
  /// Sandboxes that an earlier process of the same instance left behind, their files and background execs intact.
  Task<std::vector<Sandbox>> recover();
  /// What this host, or the engine, can do and what it lacks.
  Task<std::vector<HostFinding>> examine();
  /// Ends what was let go without destroy(). Call it before the executor stops.
  Task<> close();

  struct CLOCHE_LOCAL Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cloche::async
