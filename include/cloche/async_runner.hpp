/// @file
/// From source to verdicts, for coroutines. Plain blocking code uses cloche/runner.hpp instead.
#pragma once

#include <memory>
#include <string>

#include "cloche/async_manager.hpp"
#include "cloche/container_types.hpp"
#include "cloche/one_shot.hpp"
#include "cloche/submission.hpp"
#include "cloche/visibility.hpp"

namespace cloche::async {

/// Runs programs in the pools of a manager, which must not be shut down meanwhile. Any number of calls at a time.
class CLOCHE_API CodeRunner {
 public:
  /// The shipped languages; with a configuration file, those with its `languages:` over them.
  explicit CodeRunner(const Manager& manager);
  /// The shipped languages, with `languages:` of this configuration file over them.
  CodeRunner(const Manager& manager, const std::string& config);
  CodeRunner(CodeRunner&&) noexcept;
  ~CodeRunner();

  /// Throws when there is no verdict at all: an unknown language, a submission that makes no sense, no sandbox to be
  /// had.
  Task<Report> run(Submission submission);

  struct CLOCHE_LOCAL Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

/// One program in one sandbox that is gone after it.
class CLOCHE_API OneShot {
 public:
  /// Languages and defaults of OneShotOptions.
  explicit OneShot(const Manager& manager);
  /// With its own runtime and patience.
  OneShot(const Manager& manager, OneShotOptions options);
  OneShot(OneShot&&) noexcept;
  ~OneShot();

  /// Throws when Cloche could not do its work: no such image, no engine, the sandbox lost.
  Task<OneShotResult> run(OneShotRequest request);
  /// Throws SandboxNotFoundError or SandboxArgumentError for a language that is not known, SandboxUnavailableError for
  /// one that has no sandbox.
  Task<OneShotResult> run_code(OneShotCode code);

  struct CLOCHE_LOCAL Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

/// A sandbox as the autograder's clients know it. See cloche/sandbox_container.hpp.
class CLOCHE_API SandboxContainer {
 public:
  /// Once the sandbox is given back or destroyed, every call throws SandboxLostError.
  explicit SandboxContainer(Sandbox& sandbox);
  /// With a language and a port for what it is asked.
  SandboxContainer(Sandbox& sandbox, const ContainerOptions& options);
  SandboxContainer(SandboxContainer&&) noexcept;
  ~SandboxContainer();

  /// Files into the work directory, which no name can leave.
  Task<> prepare_workdir(FileTree files);
  /// Files into /tmp. When one target escapes, none is written.
  Task<> inject_assets(std::vector<Asset> assets);
  /// See the blocking one, in cloche/sandbox_container.hpp.
  Task<CommandResponse> run_command(std::string command, CommandOptions options);
  /// See the blocking one, in cloche/sandbox_container.hpp.
  Task<CommandResponse> run_commands(std::vector<std::string> lines, std::optional<std::string> program,
                                     CommandOptions options);
  /// See the blocking one, in cloche/sandbox_container.hpp.
  Task<ExtractedFile> extract_file(std::string path, Bytes most = mib(1));
  /// HTTP to an application in the sandbox, network or not.
  Task<AppResponse> make_request(AppRequest request);

  struct CLOCHE_LOCAL Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche::async
