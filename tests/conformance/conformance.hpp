// The conformance suite: the same cases over every backend and runtime.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>

#include "sandbox/live_sandbox.hpp"
#include "support/missing.hpp"
#include "support/target.hpp"

namespace cloche {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing_support::Target;

class Conformance : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override;
  void TearDown() override;

  const Target& target() const { return GetParam(); }
  SandboxSpec spec() const { return testing_support::spec_for(target()); }
  Backend& backend() { return *backend_; }

  // Runs a coroutine to its end; an exception fails the test.
  void run(std::function<Task<>()> body);
  // The same with a fresh sandbox, which is destroyed afterwards.
  void in_sandbox(std::function<Task<>(LiveSandbox&)> body) { in_sandbox(spec(), std::move(body)); }
  void in_sandbox(SandboxSpec spec, std::function<Task<>(LiveSandbox&)> body);
  void in_two_sandboxes(SandboxSpec first, SandboxSpec second, std::function<Task<>(LiveSandbox&, LiveSandbox&)> body);

  Task<Result<std::unique_ptr<LiveSandbox>>> create(SandboxSpec spec);
  // Creates a sandbox, passes it to `body` and destroys it.
  Task<> with_sandbox(SandboxSpec spec, std::function<Task<>(LiveSandbox&)> body);

  // The test ends here, counted, when the target does not have what it needs.
  bool fake_has_no(const char* what);

  asio::io_context io_{1};
  asio::thread_pool threads_{2};
  testing_support::Scratch scratch_;
  InstanceId instance_;
  std::unique_ptr<Backend> backend_;
};

// What a program printed and how it ended; an Error fails the test and gives an empty result.
Task<Exec::Collected> run_program(LiveSandbox& sandbox, ExecSpec spec);
Task<Exec::Collected> run_argv(LiveSandbox& sandbox, std::vector<std::string> argv);
// Not with braces: g++ 12 cannot keep an initializer list in a coroutine.
template <class... Words>
Task<Exec::Collected> run_words(LiveSandbox& sandbox, const Words&... words) {
  return run_argv(sandbox, std::vector<std::string>{words...});
}
Task<Exec::Collected> run_shell(LiveSandbox& sandbox, std::string line);
Task<Exec::Collected> run_python(LiveSandbox& sandbox, std::string code);

}  // namespace cloche

// INSTANTIATE in one file for all: gtest wants it where the suite's cases are registered.
#define CONFORMANCE(name) TEST_P(Conformance, name)
