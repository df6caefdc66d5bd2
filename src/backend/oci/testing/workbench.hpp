// A place for tests that make real sandboxes: directories and an instance of their own, a thread pool, and a way to run
// a coroutine to its end. At the end it asserts that nothing is left.
#pragma once

#include <gtest/gtest.h>
#include <boost/asio/co_spawn.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/oci/oci_backend.hpp"
#include "core/async/task.hpp"
#include "sandbox/backend.hpp"
#include "support/missing.hpp"

namespace cloche::oci {

// A directory that all users can reach, removed at the end.
class ScratchDirectory {
 public:
  ScratchDirectory();
  // A directory that is created and removed elsewhere.
  explicit ScratchDirectory(std::string path);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  bool ours_ = true;
};

class Workbench {
 public:
  Workbench();
  // Like another process with the same directories.
  Workbench(std::string scratch, std::string instance);

  OciOptions options() const;
  std::unique_ptr<Backend> backend();
  std::unique_ptr<Backend> backend(OciOptions options);

  const ScratchDirectory& scratch() const { return scratch_; }
  const std::string& instance() const { return instance_; }
  asio::io_context& io() { return io_; }
  asio::thread_pool& pool() { return pool_; }

  // Runs the coroutine on the one thread, which is the caller's.
  template <class T>
  T run(std::function<Task<T>()> start);

  // Makes a sandbox, or fails the test.
  std::unique_ptr<Enclosure> make(Backend& backend, SandboxSpec spec);
  Result<std::unique_ptr<Enclosure>> try_make(Backend& backend, SandboxSpec spec, Deadline deadline);
  void destroy(Enclosure& enclosure);
  std::vector<std::unique_ptr<Enclosure>> recover(Backend& backend);

  // Sends a command to the facts agent; its answer without the last line.
  std::string ask(Enclosure& enclosure, const std::string& command);

  // What this instance has on the host: cgroups, uid ranges, run directories, processes, mounts. Empty if clean.
  std::string leftovers() const;

 private:
  ScratchDirectory scratch_;
  std::string instance_;
  asio::io_context io_;
  asio::thread_pool pool_;
};

template <class T>
T Workbench::run(std::function<Task<T>()> start) {
  std::optional<T> result;
  std::exception_ptr thrown;
  asio::co_spawn(
      io_,
      [&]() -> Task<> {
        auto value = co_await start();
        result.emplace(std::move(value));
      },
      [&](std::exception_ptr error) { thrown = error; });
  io_.restart();
  io_.run();
  if (thrown) std::rethrow_exception(thrown);
  return std::move(*result);
}

SandboxSpec spec_with(const std::string& runtime);

// Whether the host has the runtime.
bool has_runtime(const std::string& name);

}  // namespace cloche::oci

// In a test's body: skips it where the runtime is not installed.
#define CLOCHE_NEEDS_RUNTIME(name) \
  if (!::cloche::oci::has_runtime(name)) CLOCHE_CANNOT_TEST(name, "not installed")
