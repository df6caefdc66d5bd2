// The conformance suite: the same cases over every backend and runtime.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>

#include "sandbox/live_sandbox.hpp"
#include "support/missing.hpp"
#include "support/on_backend.hpp"
#include "support/target.hpp"

namespace cloche {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing_support::Target;

class Conformance : public OnBackend {
 protected:
  void SetUp() override;
  SandboxSpec spec() const { return testing_support::spec_for(target()); }
  Backend& backend() { return *backend_; }

  // Runs a coroutine to its end with a fresh sandbox, which is destroyed afterwards.
  void in_sandbox(std::function<Task<>(LiveSandbox&)> body) { in_sandbox(spec(), std::move(body)); }
  void in_sandbox(SandboxSpec spec, std::function<Task<>(LiveSandbox&)> body);
  void in_two_sandboxes(SandboxSpec first, SandboxSpec second, std::function<Task<>(LiveSandbox&, LiveSandbox&)> body);

  Task<Result<std::unique_ptr<LiveSandbox>>> create(SandboxSpec spec);
  // Creates a sandbox, passes it to `body` and destroys it.
  Task<> with_sandbox(SandboxSpec spec, std::function<Task<>(LiveSandbox&)> body);
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
