// The library for plain blocking code. Needs nothing but the C++ standard library in its headers.
//
//   cloche::Engine engine;
//   auto sandbox = engine.create();
//   auto result = sandbox.run({.argv = {"python3", "-c", "print(6 * 7)"}});
//   // result.out == "42\n", result.outcome.success()
//
// Calls may come from any thread. Errors are thrown (cloche/errors.hpp); how a program ended is an Outcome.
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

namespace cloche {

struct RunResult {
  Outcome outcome;
  std::string out;
  std::string err;
  std::string events;
};

// Told of output while a program runs; called on the engine's own thread, so it must be quick.
struct OutputListener {
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;
  std::function<void(std::string_view)> event;
};

// One sandbox; ends with the object, or goes back to the pool that has lent it.
class Sandbox {
 public:
  const std::string& id() const;
  const SandboxSpec& spec() const;
  std::string runtime() const;

  RunResult run(ExecSpec spec);
  // Output goes to the listener as it comes, and not into the result.
  RunResult run(ExecSpec spec, OutputListener listener);

  // Paths are absolute, or relative to the work directory, which they then cannot leave.
  void write_file(const std::string& path, std::string bytes, std::uint32_t mode = 0644);
  std::string read_file(const std::string& path, Bytes most = mib(64));
  Entry stat(const std::string& path);
  EntryListing list(const std::string& path);
  void remove(const std::string& path);
  void make_directory(const std::string& path);
  void move(const std::string& from, const std::string& to);
  EntryListing glob(const std::string& path, const std::string& pattern);
  MatchListing grep(const std::string& path, const std::string& pattern);
  void unpack(const std::string& path, std::string tar);
  std::string pack(const std::string& path, Bytes most = mib(256));

  void start_zygote(const std::string& name, std::vector<std::string> imports = {});
  // Keeps a harness for scripts ready; a profile with `scripts` has one already.
  void prepare_scripts(ScriptHarness harness = {});
  // Runs a script to its end, and tells the listener of its events meanwhile, on the engine's own thread.
  ScriptResult run_script(ScriptRequest request, ScriptListener listener = {});
  void set_limits(Limits limits);
  void reset();
  // Says what could not be removed; the destructor cannot.
  void destroy();

  struct Impl;
  explicit Sandbox(std::unique_ptr<Impl> impl);
  Sandbox(Sandbox&&) noexcept;
  Sandbox& operator=(Sandbox&&) noexcept;
  ~Sandbox();
  Impl* impl() const { return impl_.get(); }

 private:
  std::unique_ptr<Impl> impl_;
};

// Makes sandboxes on one backend, with a thread of its own. Sandboxes may outlive it; the last of them ends the thread.
class Engine {
 public:
  explicit Engine(EngineOptions options = {});
  Engine(Engine&&) noexcept;
  ~Engine();

  Sandbox create(SandboxSpec spec = {});
  std::vector<Sandbox> recover();
  std::vector<HostFinding> examine();

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cloche
