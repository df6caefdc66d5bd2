// with_sandbox: a sandbox for the body of a test, destroyed whatever becomes of the body.
#pragma once

#include <functional>

#include "sandbox/backend.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche::testing_support {

Task<Result<std::unique_ptr<LiveSandbox>>> create_sandbox(Backend& backend, SandboxSpec spec);

// Failures to create and to destroy it are failures of the test.
Task<> with_sandbox(Backend& backend, SandboxSpec spec, std::function<Task<>(LiveSandbox&)> body);

}  // namespace cloche::testing_support
