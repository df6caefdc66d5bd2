/// @file
/// From source to verdicts, for plain blocking code. Needs nothing but the C++ standard library in its headers.
///
///     cloche::Manager manager(cloche::load_config("cloche.yml"));
///     cloche::CodeRunner runner(manager);
///     cloche::Submission submission;
///     submission.program = {.language = "python", .source = "print(int(input()) * 2)"};
///     submission.cases = {{.name = "small", .input = "21\n", .expected = "42"}};
///     auto report = runner.run(submission);
///     // report.passed(), report.cases[0].outcome.wall
///
/// Calls may come from any thread. Errors are thrown (cloche/errors.hpp); how a program ended is in the report.
#pragma once

#include <memory>
#include <string>

#include "cloche/manager.hpp"
#include "cloche/one_shot.hpp"
#include "cloche/submission.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// See async::CodeRunner.
class CLOCHE_API CodeRunner {
 public:
  /// The shipped languages; with a configuration file, those with its `languages:` over them.
  explicit CodeRunner(const Manager& manager, const std::string& config = {});
  CodeRunner(CodeRunner&&) noexcept;
  ~CodeRunner();

  /// Throws when there is no verdict at all: an unknown language, a submission that makes no sense, no sandbox to be
  /// had.
  Report run(Submission submission);

  struct CLOCHE_LOCAL Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

/// See async::OneShot.
class CLOCHE_API OneShot {
 public:
  /// The manager must not be shut down meanwhile.
  explicit OneShot(const Manager& manager, OneShotOptions options = {});
  OneShot(OneShot&&) noexcept;
  ~OneShot();

  /// Throws when Cloche could not do its work: no such image, no engine, the sandbox lost.
  OneShotResult run(OneShotRequest request);
  /// SandboxNotFoundError or SandboxArgumentError for a language that is not known, SandboxUnavailableError for one
  /// that has no sandbox.
  OneShotResult run_code(OneShotCode code);

  struct CLOCHE_LOCAL Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche
