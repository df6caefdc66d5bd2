/// @file
/// Sandboxes with a persistent shell, for blocking code. SandboxManager keeps many by id; SandboxClient has one. The
/// headers need only the C++ standard library.
///
///     cloche::SandboxManager manager;
///     const std::string id = manager.create_sandbox();
///     auto sandbox = manager.get_sandbox(id);
///     sandbox.run_command("cd /tmp; x=42");
///     sandbox.run_command("echo $x in $PWD").out;   // "42 in /tmp\n"
///     manager.delete_sandbox(id);
///
/// Calls may come from any thread. Errors are thrown (cloche/errors.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cloche/bytes.hpp"
#include "cloche/engine_options.hpp"
#include "cloche/errors.hpp"
#include "cloche/spec.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// Options of a sandbox.
struct SandboxSettings {
  static constexpr const char* default_image = "python:3.12-slim";  ///< The default of `image`.

  /// docker: an image, which is pulled if the engine does not have it. oci: as SandboxSpec::image; the default means
  /// the host's own /usr.
  std::string image = default_image;
  std::string work_dir = "/workspace";  ///< The directory for files, in which the shell starts.
  std::string memory_limit = "512m";    ///< The memory limit, such as "512m" or "1g".
  double cpu_limit = 1.0;               ///< Share of CPU time: 0.5 is half a core.
  /// The time limit of commands that do not set one.
  std::chrono::milliseconds timeout{300'000};
  /// Whether programs reach public addresses, through a proxy that environment variables name.
  bool network_enabled = false;
  std::string runtime = "auto";  ///< See SandboxSpec::runtime.
};

/// How a command ended.
struct ShellResult {
  std::string out;    ///< What it wrote to stdout.
  std::string err;    ///< What it wrote to stderr.
  int exit_code = 0;  ///< The exit code, as in the shell.

  /// Why the command did not end by itself: the memory limit, too much output, or the loss of the shell.
  std::string reason;
  bool truncated = false;  ///< True if the output is incomplete.
  bool fresh = false;      ///< True if a new shell ran the command because the previous one was lost.
};

/// Thrown when a command exceeded its time limit and was stopped. The shell keeps its variables for the next command.
class CLOCHE_API CommandTimeoutError : public SandboxTimeoutError {
 public:
  /// For internal use.
  CommandTimeoutError(const std::string& what, ShellResult so_far)
      : SandboxTimeoutError(what), so_far_(std::make_shared<ShellResult>(std::move(so_far))) {}
  /// Returns what the command had printed.
  const ShellResult& so_far() const { return *so_far_; }

 private:
  std::shared_ptr<const ShellResult> so_far_;
};

/// The result of a copy.
struct CopyReport {
  std::uint64_t files = 0;  ///< The number of files.
  Bytes bytes;              ///< The total size.

  /// Entries that are neither files nor directories. Symbolic links are not followed.
  std::vector<std::string> left_out;
};

/// A handle of one sandbox and its shell. It does not keep the sandbox alive: after the sandbox was deleted or idle for
/// too long, calls throw SandboxLostError. Paths in the sandbox are absolute, or relative to the work directory. A
/// relative path cannot leave the work directory.
class CLOCHE_API ShellSandbox {
 public:
  /// Returns the id in the SandboxManager.
  const std::string& id() const;

  /// Runs a command. Commands of one sandbox run one after the other.
  ShellResult run_command(const std::string& command, std::optional<std::chrono::milliseconds> timeout = std::nullopt);

  /// Throws SandboxNotFoundError if the file does not exist, SandboxResourceError if it has more than `most` bytes.
  std::string read_file(const std::string& path, Bytes most = mib(64));
  /// Writes a file and creates its parent directories. Replaces an existing file.
  void write_file(const std::string& path, std::string content);
  /// Copies a file or directory of the host to `path` in the sandbox. Replaces existing files.
  CopyReport copy_to(const std::string& host_path, const std::string& path);
  /// Copies a file or directory of the sandbox to `host_path`. A directory must not exist yet. Throws
  /// SandboxResourceError if it has more than `most` bytes, and then leaves nothing behind.
  CopyReport copy_from(const std::string& path, const std::string& host_path, Bytes most = mib(256));

  struct CLOCHE_LOCAL Impl;
  explicit ShellSandbox(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

/// Limits of a manager.
struct SandboxManagerOptions {
  EngineOptions engine;                                 ///< What creates the sandboxes.
  std::uint32_t max_sandboxes = 100;                    ///< The limit of sandboxes at a time.
  std::chrono::milliseconds idle_timeout{3'600'000};    ///< Idle time after which a sandbox is deleted.
  std::chrono::milliseconds cleanup_interval{300'000};  ///< The interval between searches for idle sandboxes.
};

/// The current state of a manager.
struct SandboxManagerStats {
  std::uint32_t total_sandboxes = 0;             ///< All sandboxes, including those being created.
  std::uint32_t max_sandboxes = 0;               ///< The option max_sandboxes.
  std::uint32_t active_operations = 0;           ///< Running commands and copies.
  std::chrono::milliseconds idle_timeout{};      ///< The option idle_timeout.
  std::chrono::milliseconds cleanup_interval{};  ///< The option cleanup_interval.
  bool is_shutting_down = false;                 ///< True after cleanup() was called.
};

/// Sandboxes by id.
class CLOCHE_API SandboxManager {
 public:
  /// Throws SandboxArgumentError for invalid options. Creates no sandboxes before create_sandbox().
  explicit SandboxManager(SandboxManagerOptions options = {});
  SandboxManager(SandboxManager&&) noexcept;
  /// Cleans up. What could not be removed is logged.
  ~SandboxManager();

  /// Creates a sandbox and returns its id. Throws SandboxResourceError if there are already max_sandboxes.
  std::string create_sandbox(SandboxSettings settings = {}, std::vector<Mount> volumes = {});
  /// Throws SandboxNotFoundError if no sandbox has this id.
  ShellSandbox get_sandbox(const std::string& id);
  /// Deletes a sandbox. Waits for its running operations and refuses new ones.
  void delete_sandbox(const std::string& id);
  /// Deletes all sandboxes. No more can be created afterwards.
  void cleanup();
  /// Returns the current state.
  SandboxManagerStats get_stats() const;

  struct CLOCHE_LOCAL Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

/// One sandbox. Every call except create() throws SandboxArgumentError while there is no sandbox.
class CLOCHE_API SandboxClient {
 public:
  /// Creates no sandbox before create().
  explicit SandboxClient(EngineOptions options = {}) : options_(std::move(options)) {}

  /// Creates the sandbox. Throws SandboxArgumentError if there already is one.
  void create(SandboxSettings settings = {}, std::vector<Mount> volumes = {});
  /// See ShellSandbox.
  ShellResult run_command(const std::string& command, std::optional<std::chrono::milliseconds> timeout = std::nullopt);
  /// See ShellSandbox.
  std::string read_file(const std::string& path, Bytes most = mib(64));
  /// See ShellSandbox.
  void write_file(const std::string& path, std::string content);
  /// See ShellSandbox.
  CopyReport copy_to(const std::string& host_path, const std::string& path);
  /// See ShellSandbox.
  CopyReport copy_from(const std::string& path, const std::string& host_path, Bytes most = mib(256));
  /// Removes the sandbox. create() may be called again. Does nothing if there is none.
  void cleanup();

 private:
  ShellSandbox& sandbox();

  EngineOptions options_;
  std::optional<SandboxManager> manager_;
  std::optional<ShellSandbox> sandbox_;
};

}  // namespace cloche
