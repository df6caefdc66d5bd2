// The library for coroutines. Everything runs on the executor given, which must be of one thread (or a strand); errors
// are thrown (cloche/errors.hpp). Plain blocking code uses cloche/sandbox.hpp instead.
//
// With g++ 12, name a spec before you pass it: `ExecSpec spec; …; co_await sandbox.run(std::move(spec));`. That
// compiler destroys a braced temporary inside a co_await expression twice.
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

namespace cloche::async {

template <class T = void>
using Task = boost::asio::awaitable<T>;

// Bytes a program printed, or wrote to its event descriptor.
struct Output {
  enum class Source { out, err, event } source = Source::out;
  std::string bytes;
};

// One running program. Destroying it before its end stops the program, unless it runs in the background.
class Exec {
 public:
  // The next output, or the outcome, after which there is nothing more.
  Task<std::variant<Output, Outcome>> next();
  Task<> write_stdin(std::string bytes);
  void close_stdin();
  // To the program's process group.
  void signal(int number);
  void resize(TerminalSize size);
  // Ends the whole tree of the program; its outcome says `cancelled`.
  void stop();
  // To find it again with Sandbox::attach; 0 for a program in the foreground.
  std::uint64_t background_id() const;

  struct Impl;
  Exec();  // none; only good for being assigned to
  explicit Exec(std::unique_ptr<Impl> impl);
  Exec(Exec&&) noexcept;
  Exec& operator=(Exec&&) noexcept;
  ~Exec();

 private:
  std::unique_ptr<Impl> impl_;
};

struct RunResult {
  Outcome outcome;
  std::string out;
  std::string err;
  std::string events;
};

struct BackgroundExec {
  std::uint64_t id = 0;
  std::vector<std::string> argv;
  bool running = false;
  std::chrono::milliseconds age{};
};

// One sandbox. Destroying the object without destroy() hands the sandbox to its engine, which ends it.
class Sandbox {
 public:
  const std::string& id() const;
  const SandboxSpec& spec() const;
  std::string runtime() const;

  // Stdin is closed or a stream; only run() takes bytes.
  Task<Exec> start(ExecSpec spec);
  // Runs a program to its end. A timeout is thrown only when the sandbox does not answer long after the program's own
  // limits have passed.
  Task<RunResult> run(ExecSpec spec);

  Task<std::vector<BackgroundExec>> background();
  Task<Exec> attach(std::uint64_t background_id);

  // Paths are absolute, or relative to the work directory, which they then cannot leave.
  Task<> write_file(std::string path, std::string bytes, std::uint32_t mode = 0644);
  Task<std::string> read_file(std::string path, Bytes most = mib(64));
  Task<Entry> stat(std::string path);
  Task<EntryListing> list(std::string path);
  Task<> remove(std::string path);
  Task<> make_directory(std::string path);
  Task<> move(std::string from, std::string to);
  Task<EntryListing> glob(std::string path, std::string pattern);
  Task<MatchListing> grep(std::string path, std::string pattern);
  // Tar streams, whole.
  Task<> unpack(std::string path, std::string tar);
  Task<std::string> pack(std::string path, Bytes most = mib(256));

  Task<> start_zygote(std::string name, std::vector<std::string> imports);
  // Keeps a harness for scripts ready; a profile with `scripts` has one already.
  Task<> prepare_scripts(ScriptHarness harness);
  // Runs a script to its end, and tells the listener of its events meanwhile.
  Task<ScriptResult> run_script(ScriptRequest request);
  Task<ScriptResult> run_script(ScriptRequest request, ScriptListener listener);
  Task<> set_limits(Limits limits);
  // As good as new, and proved to be; throws when it is not, and then the sandbox must be destroyed.
  Task<> reset();
  Task<> destroy();

  struct Impl;
  Sandbox();  // none; only good for being assigned to
  explicit Sandbox(std::unique_ptr<Impl> impl);
  Sandbox(Sandbox&&) noexcept;
  Sandbox& operator=(Sandbox&&) noexcept;
  ~Sandbox();
  Impl* impl() const { return impl_.get(); }

 private:
  std::unique_ptr<Impl> impl_;
};

// Makes sandboxes on one backend.
class Engine {
 public:
  Engine(boost::asio::any_io_executor executor, EngineOptions options = {});
  Engine(Engine&&) noexcept;
  ~Engine();

  Task<Sandbox> create(SandboxSpec spec);
  Task<Sandbox> create();
  // Sandboxes that an earlier process of the same instance left behind, their files and background execs intact.
  Task<std::vector<Sandbox>> recover();
  Task<std::vector<HostFinding>> examine();
  // Ends what was let go without destroy(). Call it before the executor stops.
  Task<> close();

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cloche::async
