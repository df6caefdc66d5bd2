// For tests of contexts: a sandbox of the fake backend with the real agent and real interpreters, but without
// isolation.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>

#include "sandbox/live_sandbox.hpp"
#include "support/missing.hpp"
#include "support/target.hpp"
#include "support/with_sandbox.hpp"

namespace cloche {

class ContextFixture : public testing::Test {
 protected:
  void SetUp() override {
    const testing_support::Target target{"fake", ""};
    if (const auto lack = testing_support::lack_of(target)) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
    InstanceId instance;
    instance.value = "test-contexts";
    auto made = testing_support::make_backend(target, io_.get_executor(), threads_, scratch_, instance);
    ASSERT_TRUE(made) << made.error().message;
    backend_ = std::move(*made);
  }

  void in_sandbox(std::function<Task<>(LiveSandbox&)> body) {
    std::exception_ptr thrown;
    asio::co_spawn(
        io_, [&]() -> Task<> { co_await run_in_sandbox(body); }, [&](std::exception_ptr error) { thrown = error; });
    io_.run();
    if (thrown) std::rethrow_exception(thrown);
  }

  asio::io_context io_{1};
  asio::thread_pool threads_{1};
  testing_support::Scratch scratch_;
  std::unique_ptr<Backend> backend_;

 private:
  Task<> run_in_sandbox(const std::function<Task<>(LiveSandbox&)>& body) {
    SandboxSpec spec = testing_support::spec_for(testing_support::Target{"fake", ""});
    co_await testing_support::with_sandbox(*backend_, std::move(spec), body);
  }
};

}  // namespace cloche
