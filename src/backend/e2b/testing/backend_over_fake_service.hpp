// OverFakeService: a fixture with an in-memory service, and a backend that talks to it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "backend/e2b/api/control.hpp"
#include "backend/e2b/e2b_backend.hpp"
#include "backend/e2b/testing/fake_service.hpp"
#include "sandbox/limits.hpp"

namespace cloche::e2b::testing {

class OverFakeService : public ::testing::Test {
 protected:
  void run(const std::function<Task<>()>& body) {
    EXPECT_TRUE(http::testing::run_to_end(io_, [this, body]() -> Task<> {
      co_await body();
      co_await service_.server().stop();
    }));
  }
  std::unique_ptr<Backend> backend() { return backend(service_.settings()); }
  std::unique_ptr<Backend> backend(E2bSettings settings) {
    return create_e2b_backend(io_.get_executor(), pool_, std::move(settings)).value();
  }
  std::shared_ptr<Control> control() {
    const E2bSettings settings = service_.settings();
    return std::make_shared<Control>(io_.get_executor(), settings, control_address(settings).value());
  }
  static SandboxSpec spec() {
    SandboxSpec made;
    made.limits = limits_of_image(made.limits);
    return made;
  }
  static Deadline soon() { return Deadline::after(std::chrono::seconds(10)); }

  asio::io_context io_;
  asio::thread_pool pool_{1};
  FakeService service_{io_.get_executor()};
};

}  // namespace cloche::e2b::testing
