// Source to verdict, over the fake backend, oci and docker.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "pool/manager.hpp"
#include "runner/code_runner.hpp"
#include "support/missing.hpp"
#include "support/on_backend.hpp"
#include "support/target.hpp"

namespace cloche {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing_support::Target;

class RunnerOn : public OnBackend {
 protected:
  // One pool, called `box`, for every language.
  ManagerOptions options(std::uint32_t size = 1, std::uint32_t limit = 3) const;

  // Starts a manager and a runner, runs the body, shuts down; nothing may be left.
  void in_manager(ManagerOptions options, std::function<Task<>(pool::Manager&)> body);
  void in_runner(ManagerOptions options, std::function<Task<>(runner::CodeRunner&)> body);
  // One submission and what is said of it.
  Report judge(Submission submission);
  Report judge(Submission submission, ManagerOptions options);

  bool has(const std::string& program) const;
  // Skips the test when the sandbox's root has no such program.
  bool lacks(const std::string& program);
};

// A case that expects this; nothing is compared where it is not given.
TestCase expecting(std::string input, std::string expected);
Submission python(std::string source);
Submission in_language(std::string language, std::string source);
// `success`, `runtime_error/exit_code`: what a table of verdicts has.
std::string said(const Report& report);
std::string said(const CaseReport& report);

}  // namespace cloche

#define RUNNER(name) TEST_P(RunnerOn, name)
