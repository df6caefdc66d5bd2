/// @file
/// Sandboxes with a shell that lives on from command to command, for plain blocking code: SandboxManager keeps many, by
/// id; SandboxClient has one. Needs nothing but the C++ standard library in its headers.
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

/// What a sandbox is made with.
struct SandboxSettings {
  static constexpr const char* default_image = "python:3.12-slim";  ///< what `image` is where nobody chose one

  /// docker: pulled when the engine does not have it. oci: as SandboxSpec::image, and the default stands for the host's
  /// own /usr.
  std::string image = default_image;
  std::string work_dir = "/workspace";         ///< where files are and the shell starts
  std::string memory_limit = "512m";           ///< as "512m", "1g"
  double cpu_limit = 1.0;                      ///< share of cpu time: 0.5 is half a core
  std::chrono::milliseconds timeout{300'000};  ///< of a command that brings none of its own
  bool network_enabled = false;                ///< no backend has a network yet: true is refused
  std::string runtime = "auto";                ///< as SandboxSpec::runtime
};

/// How a command ended.
struct ShellResult {
  std::string out;     ///< what it printed on stdout
  std::string err;     ///< what it printed on stderr
  int exit_code = 0;   ///< as the shell says it
  std::string reason;  ///< when the command did not end by itself: memory, too much output, the shell itself was lost
  bool truncated = false;  ///< not all it printed is here
  bool fresh = false;      ///< a new shell ran it, because the former one was lost
};

/// A command ran longer than it may, and was ended. The next one starts clean, and finds the shell's variables.
class CLOCHE_API CommandTimeoutError : public SandboxTimeoutError {
 public:
  /// For Cloche's own use.
  CommandTimeoutError(const std::string& what, ShellResult so_far)
      : SandboxTimeoutError(what), so_far_(std::make_shared<ShellResult>(std::move(so_far))) {}
  /// What it had printed.
  const ShellResult& so_far() const { return *so_far_; }

 private:
  std::shared_ptr<const ShellResult> so_far_;
};

/// What was copied.
struct CopyReport {
  std::uint64_t files = 0;            ///< how many
  Bytes bytes;                        ///< all together
  std::vector<std::string> left_out;  ///< what is neither a file nor a directory; links are not followed
};

/// One sandbox and its shell; a handle, of which there may be many. It does not keep the sandbox: once that was deleted
/// or idle for too long, calls throw SandboxLostError. Paths in the sandbox are absolute, or relative to the work
/// directory, which they then cannot leave.
class CLOCHE_API ShellSandbox {
 public:
  /// As SandboxManager knows it.
  const std::string& id() const;

  /// Commands of one sandbox run one after the other.
  ShellResult run_command(const std::string& command, std::optional<std::chrono::milliseconds> timeout = std::nullopt);

  /// SandboxNotFoundError when there is none, SandboxResourceError when it holds more than `most`.
  std::string read_file(const std::string& path, Bytes most = mib(64));
  /// Replaces a file that is there; makes the directories on the way.
  void write_file(const std::string& path, std::string content);
  /// A file or a directory of the host, to become `path` in the sandbox. Files there are replaced.
  CopyReport copy_to(const std::string& host_path, const std::string& path);
  /// A file or a directory of the sandbox, to become `host_path`; a directory must not be there yet. More than `most`
  /// bytes are a SandboxResourceError, and nothing is left of them.
  CopyReport copy_from(const std::string& path, const std::string& host_path, Bytes most = mib(256));

  struct CLOCHE_LOCAL Impl;
  explicit ShellSandbox(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

/// How many sandboxes there may be, and for how long.
struct SandboxManagerOptions {
  EngineOptions engine;                                 ///< what makes the sandboxes
  std::uint32_t max_sandboxes = 100;                    ///< at a time
  std::chrono::milliseconds idle_timeout{3'600'000};    ///< until a sandbox that nobody used is deleted
  std::chrono::milliseconds cleanup_interval{300'000};  ///< between two looks for idle ones
};

/// What a manager has now.
struct SandboxManagerStats {
  std::uint32_t total_sandboxes = 0;             ///< those being made are among them
  std::uint32_t max_sandboxes = 0;               ///< as the options say
  std::uint32_t active_operations = 0;           ///< commands and copies that run
  std::chrono::milliseconds idle_timeout{};      ///< as the options say
  std::chrono::milliseconds cleanup_interval{};  ///< as the options say
  bool is_shutting_down = false;                 ///< cleanup() was called
};

/// Sandboxes by id.
class CLOCHE_API SandboxManager {
 public:
  /// SandboxArgumentError for options that make no sense. Nothing is made before create_sandbox().
  explicit SandboxManager(SandboxManagerOptions options = {});
  SandboxManager(SandboxManager&&) noexcept;
  /// Cleans up. What could not be removed is logged.
  ~SandboxManager();

  /// Its id. SandboxResourceError when there are max_sandboxes already.
  std::string create_sandbox(SandboxSettings settings = {}, std::vector<Mount> volumes = {});
  /// SandboxNotFoundError when there is none of that id.
  ShellSandbox get_sandbox(const std::string& id);
  /// Waits for the operations that run in it; new ones are refused.
  void delete_sandbox(const std::string& id);
  /// Deletes all. Afterwards nothing is made any more.
  void cleanup();
  /// Of this moment.
  SandboxManagerStats get_stats() const;

  struct CLOCHE_LOCAL Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

/// One sandbox. Everything but create() throws SandboxArgumentError as long as there is none.
class CLOCHE_API SandboxClient {
 public:
  /// Nothing is made before create().
  explicit SandboxClient(EngineOptions options = {}) : options_(std::move(options)) {}

  /// SandboxArgumentError when there is one already.
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
  /// Ends it; create() may follow. Does nothing where there is none.
  void cleanup();

 private:
  ShellSandbox& sandbox();

  EngineOptions options_;
  std::optional<SandboxManager> manager_;
  std::optional<ShellSandbox> sandbox_;
};

}  // namespace cloche
