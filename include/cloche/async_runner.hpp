// From source to verdicts, for coroutines. Plain blocking code uses cloche/runner.hpp instead.
#pragma once

#include <memory>
#include <string>

#include "cloche/async_manager.hpp"
#include "cloche/container_types.hpp"
#include "cloche/one_shot.hpp"
#include "cloche/submission.hpp"

namespace cloche::async {

// Runs programs in the pools of a manager, which must not be shut down meanwhile. Any number of calls at a time.
class CodeRunner {
 public:
  // The shipped languages; with a configuration file, those with its `languages:` over them.
  explicit CodeRunner(const Manager& manager);
  CodeRunner(const Manager& manager, const std::string& config);
  CodeRunner(CodeRunner&&) noexcept;
  ~CodeRunner();

  // Throws when there is no verdict at all: an unknown language, a submission that makes no sense, no sandbox to be
  // had.
  Task<Report> run(Submission submission);

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

// One program in one sandbox that is gone after it.
class OneShot {
 public:
  explicit OneShot(const Manager& manager);
  OneShot(const Manager& manager, OneShotOptions options);
  OneShot(OneShot&&) noexcept;
  ~OneShot();

  Task<OneShotResult> run(OneShotRequest request);
  // Throws SandboxNotFoundError or SandboxArgumentError for a language that is not known, SandboxUnavailableError for
  // one that has no sandbox.
  Task<OneShotResult> run_code(OneShotCode code);

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

// A sandbox as the autograder's clients know it. See cloche/sandbox_container.hpp.
class SandboxContainer {
 public:
  // The sandbox outlives it.
  explicit SandboxContainer(Sandbox& sandbox);
  SandboxContainer(Sandbox& sandbox, const ContainerOptions& options);
  SandboxContainer(SandboxContainer&&) noexcept;
  ~SandboxContainer();

  Task<> prepare_workdir(FileTree files);
  Task<> inject_assets(std::vector<Asset> assets);
  Task<CommandResponse> run_command(std::string command, CommandOptions options);
  Task<CommandResponse> run_commands(std::vector<std::string> lines, std::optional<std::string> program,
                                     CommandOptions options);
  Task<ExtractedFile> extract_file(std::string path, Bytes most = mib(1));
  Task<AppResponse> make_request(AppRequest request);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche::async
