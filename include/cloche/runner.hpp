/// @file
/// From source code to verdicts, for blocking code. The headers need only the C++ standard library.
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
  /// Uses the built-in languages. With a configuration file, its `languages:` changes and extends them.
  explicit CodeRunner(const Manager& manager, const std::string& config = {});
  CodeRunner(CodeRunner&&) noexcept;
  ~CodeRunner();

  /// Judges a submission. Throws if no verdict is possible: unknown language, invalid submission, or no sandbox
  /// available.
  Report run(Submission submission);

  struct CLOCHE_LOCAL Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

/// See async::OneShot.
class CLOCHE_API OneShot {
 public:
  /// The manager must not be shut down while calls run.
  explicit OneShot(const Manager& manager, OneShotOptions options = {});
  OneShot(OneShot&&) noexcept;
  ~OneShot();

  /// Runs a command. Throws if Cloche could not do its work: no such image, no engine, or the sandbox was lost.
  OneShotResult run(OneShotRequest request);
  /// Runs source code. Throws SandboxNotFoundError or SandboxArgumentError for an unknown language and
  /// SandboxUnavailableError for a language without a sandbox.
  OneShotResult run_code(OneShotCode code);

  struct CLOCHE_LOCAL Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche
