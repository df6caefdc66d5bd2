// ManagedSandbox: a sandbox with its shell, as SandboxManager keeps it. Belongs on the manager's own thread.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <optional>
#include <string>

#include "cloche/async.hpp"
#include "cloche/sandbox_manager.hpp"
#include "context/shell_context.hpp"
#include "core/async/event.hpp"
#include "library/private_network.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche {

// Throws SandboxArgumentError, or SandboxUnavailableError for what no backend can do.
SandboxSpec to_spec(const SandboxSettings& settings, BackendKind backend, std::vector<Mount> volumes);

class ManagedSandbox {
 public:
  // `network` may be null.
  ManagedSandbox(Executor executor, async::Sandbox sandbox, std::unique_ptr<PrivateNetwork> network,
                 std::chrono::milliseconds timeout);

  const std::string& id() const { return sandbox_.id(); }
  std::uint32_t operations() const { return operations_; }
  bool is_idle_since(Deadline::Clock::time_point when) const {
    return !ending_ && operations_ == 0 && last_used_ <= when;
  }

  // All throw; SandboxLostError from end() on.
  async::Task<ShellResult> run_command(std::string command, std::optional<std::chrono::milliseconds> timeout);
  async::Task<std::string> read_file(std::string path, Bytes most);
  async::Task<> write_file(std::string path, std::string content);
  // Blocking work on the host's files runs on `threads`.
  async::Task<CopyReport> copy_to(asio::thread_pool& threads, std::string host_path, std::string path);
  async::Task<CopyReport> copy_from(asio::thread_pool& threads, std::string path, std::string host_path, Bytes most);

  // Waits for running operations, then ends it. A second caller waits for the first.
  async::Task<> end();

 private:
  class Operation;
  FilePath place(std::string path) const;

  async::Sandbox sandbox_;
  std::shared_ptr<LiveSandbox> live_;
  std::unique_ptr<PrivateNetwork> network_;
  ShellContext shell_;
  std::chrono::milliseconds timeout_;
  std::uint32_t operations_ = 0;
  bool ending_ = false;
  bool gone_ = false;
  Deadline::Clock::time_point last_used_ = Deadline::Clock::now();
  Event changed_;
};

}  // namespace cloche
