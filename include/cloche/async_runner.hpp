/// @file
/// From source code to verdicts, for coroutines. Blocking code uses cloche/runner.hpp instead.
#pragma once

#include <memory>
#include <string>

#include "cloche/async_manager.hpp"
#include "cloche/container_types.hpp"
#include "cloche/one_shot.hpp"
#include "cloche/submission.hpp"
#include "cloche/visibility.hpp"

namespace cloche::async {

/// Runs programs in the pools of a manager, which must not be shut down while calls run. Allows any number of
/// concurrent calls.
class CLOCHE_API CodeRunner {
 public:
  /// Uses the built-in languages.
  explicit CodeRunner(const Manager& manager);
  /// Uses the built-in languages, changed and extended by `languages:` of this configuration file.
  CodeRunner(const Manager& manager, const std::string& config);
  CodeRunner(CodeRunner&&) noexcept;
  ~CodeRunner();

  /// Judges a submission. Throws if no verdict is possible: unknown language, invalid submission, or no sandbox
  /// available.
  Task<Report> run(Submission submission);

  struct CLOCHE_LOCAL Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

/// Runs one program in a sandbox that is destroyed afterwards.
class CLOCHE_API OneShot {
 public:
  /// Uses the defaults of OneShotOptions.
  explicit OneShot(const Manager& manager);
  /// Uses the given runtime and timeouts.
  OneShot(const Manager& manager, OneShotOptions options);
  OneShot(OneShot&&) noexcept;
  ~OneShot();

  /// Runs a command. Throws if Cloche could not do its work: no such image, no engine, or the sandbox was lost.
  Task<OneShotResult> run(OneShotRequest request);
  /// Runs source code. Throws SandboxNotFoundError or SandboxArgumentError for an unknown language and
  /// SandboxUnavailableError for a language without a sandbox.
  Task<OneShotResult> run_code(OneShotCode code);

  struct CLOCHE_LOCAL Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

/// A sandbox with the interface of the autograder. See cloche/sandbox_container.hpp.
class CLOCHE_API SandboxContainer {
 public:
  /// When the sandbox is released or destroyed, every call throws SandboxLostError.
  explicit SandboxContainer(Sandbox& sandbox);
  /// Also sets the language and the port of the application.
  SandboxContainer(Sandbox& sandbox, const ContainerOptions& options);
  SandboxContainer(SandboxContainer&&) noexcept;
  ~SandboxContainer();

  /// Writes files to the work directory. Names cannot lead out of it.
  Task<> prepare_workdir(FileTree files);
  /// Writes files to /tmp. If one target leads out of it, nothing is written.
  Task<> inject_assets(std::vector<Asset> assets);
  /// See the blocking version in cloche/sandbox_container.hpp.
  Task<CommandResponse> run_command(std::string command, CommandOptions options);
  /// See the blocking version in cloche/sandbox_container.hpp.
  Task<CommandResponse> run_commands(std::vector<std::string> lines, std::optional<std::string> program,
                                     CommandOptions options);
  /// See the blocking version in cloche/sandbox_container.hpp.
  Task<ExtractedFile> extract_file(std::string path, Bytes most = mib(1));
  /// Sends an HTTP request to an application in the sandbox. This works without a network.
  Task<AppResponse> make_request(AppRequest request);

  struct CLOCHE_LOCAL Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche::async
