// OverFakeCluster: a fixture with an in-memory cluster, and a backend that talks to it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "backend/kubernetes/api/api.hpp"
#include "backend/kubernetes/kubernetes_backend.hpp"
#include "backend/kubernetes/testing/fake_cluster.hpp"

namespace cloche::kubernetes::testing {

class OverFakeCluster : public ::testing::Test {
 protected:
  void run(const std::function<Task<>()>& body) {
    EXPECT_TRUE(http::testing::run_to_end(io_, [this, body]() -> Task<> {
      co_await body();
      co_await cluster_.server().stop();
    }));
  }
  std::unique_ptr<Backend> backend() { return backend(cluster_.settings()); }
  std::unique_ptr<Backend> backend(KubernetesSettings settings) {
    return create_kubernetes_backend(io_.get_executor(), pool_, std::move(settings)).value();
  }
  std::shared_ptr<Api> api() { return std::make_shared<Api>(io_.get_executor(), pool_, cluster_.settings()); }
  static SandboxSpec spec() {
    SandboxSpec made;
    made.image = "debian:12";
    return made;
  }
  static Deadline soon() { return Deadline::after(std::chrono::seconds(10)); }

  asio::io_context io_;
  asio::thread_pool pool_{1};
  FakeCluster cluster_{io_.get_executor()};
};

}  // namespace cloche::kubernetes::testing
