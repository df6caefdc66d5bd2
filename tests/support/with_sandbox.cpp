#include "support/with_sandbox.hpp"

#include <gtest/gtest.h>

namespace cloche::testing_support {

using namespace std::chrono_literals;

Task<Result<std::unique_ptr<LiveSandbox>>> create_sandbox(Backend& backend, SandboxSpec spec) {
  auto enclosure = co_await backend.create(std::move(spec), Deadline::after(120s));
  if (!enclosure) co_return fail(std::move(enclosure).error());
  auto sandbox = co_await LiveSandbox::open(std::move(*enclosure), Greeting::fresh, Deadline::after(60s));
  co_return sandbox;
}

Task<> with_sandbox(Backend& backend, SandboxSpec spec, std::function<Task<>(LiveSandbox&)> body) {
  auto made = co_await create_sandbox(backend, std::move(spec));
  EXPECT_TRUE(made) << made.error().message;
  if (!made) co_return;
  const auto sandbox = std::move(*made);
  std::exception_ptr thrown;
  try {
    co_await body(*sandbox);
  } catch (...) {
    thrown = std::current_exception();
  }
  auto destroyed = co_await sandbox->destroy(Deadline::after(60s));
  EXPECT_TRUE(destroyed) << destroyed.error().message;
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace cloche::testing_support
