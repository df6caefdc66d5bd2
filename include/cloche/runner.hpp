// From source to verdicts, for plain blocking code. Needs nothing but the C++ standard library in its headers.
//
//   cloche::Manager manager(cloche::load_config("cloche.yml"));
//   cloche::CodeRunner runner(manager);
//   cloche::Submission submission;
//   submission.program = {.language = "python", .source = "print(int(input()) * 2)"};
//   submission.cases = {{.name = "small", .input = "21\n", .expected = "42"}};
//   auto report = runner.run(submission);
//   // report.passed(), report.cases[0].outcome.wall
//
// Calls may come from any thread. Errors are thrown (cloche/errors.hpp); how a program ended is in the report.
#pragma once

#include <memory>
#include <string>

#include "cloche/manager.hpp"
#include "cloche/one_shot.hpp"
#include "cloche/submission.hpp"

namespace cloche {

// See async::CodeRunner.
class CodeRunner {
 public:
  explicit CodeRunner(const Manager& manager, const std::string& config = {});
  CodeRunner(CodeRunner&&) noexcept;
  ~CodeRunner();

  Report run(Submission submission);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// See async::OneShot.
class OneShot {
 public:
  explicit OneShot(const Manager& manager, OneShotOptions options = {});
  OneShot(OneShot&&) noexcept;
  ~OneShot();

  OneShotResult run(OneShotRequest request);
  OneShotResult run_code(OneShotCode code);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace cloche
