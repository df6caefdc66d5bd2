// OnBackend: what suites over every backend and runtime have in common. A test has a backend of its own instance, and
// leaves no sandbox behind.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "core/ids.hpp"
#include "support/missing.hpp"
#include "support/target.hpp"

namespace cloche {

class OnBackend : public testing::TestWithParam<testing_support::Target> {
 protected:
  void SetUp() override {
    if (const auto lack = testing_support::lack_of(target())) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
    instance_.value = "test-" + random_hex(6);
    auto made = testing_support::make_backend(target(), io_.get_executor(), threads_, scratch_, instance_);
    ASSERT_TRUE(made) << made.error().message;
    backend_ = std::move(*made);
  }

  // Destroys what a failed test left.
  void TearDown() override {
    if (!backend_) return;
    run([this]() -> Task<> {
      auto left = co_await backend_->recover(Deadline::after(std::chrono::seconds(60)));
      EXPECT_TRUE(left) << left.error().message;
      if (!left) co_return;
      EXPECT_TRUE(left->empty() || HasFailure()) << "a sandbox was left behind";
      for (auto& enclosure : *left) {
        auto destroyed = co_await enclosure->destroy(Deadline::after(std::chrono::seconds(30)));
        EXPECT_TRUE(destroyed) << destroyed.error().message;
      }
    });
  }

  const testing_support::Target& target() const { return GetParam(); }

  // Runs a coroutine to its end; an exception fails the test.
  void run(std::function<Task<>()> body) {
    std::exception_ptr thrown;
    io_.restart();
    asio::co_spawn(io_, body, [&](std::exception_ptr error) { thrown = error; });
    io_.run();
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "exception: " << error.what();
    }
  }

  // The test ends here, counted, when the target does not have what it needs.
  bool fake_has_no(const char* what) {
    if (!target().is_fake()) return false;
    [&] { CLOCHE_DOES_NOT_APPLY(std::string("the fake backend has no ") + what); }();
    return true;
  }

  asio::io_context io_{1};
  asio::thread_pool threads_{2};
  testing_support::Scratch scratch_;
  InstanceId instance_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace cloche
