// BackendOverFakeEngine: a fixture with a backend and an in-memory engine that fails where a test requests it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "backend/docker/docker_backend.hpp"
#include "backend/docker/testing/fake_engine.hpp"

namespace cloche::docker::testing {

class BackendOverFakeEngine : public ::testing::Test {
 protected:
  void run(const std::function<Task<>()>& body) {
    EXPECT_TRUE(http::testing::run_to_end(io_, [this, body]() -> Task<> {
      co_await body();
      co_await engine_.server().stop();
    }));
  }
  std::unique_ptr<Backend> backend() { return backend(engine_.options()); }
  std::unique_ptr<Backend> backend(DockerOptions options) {
    return create_docker_backend(io_.get_executor(), pool_, std::move(options)).value();
  }
  static SandboxSpec spec() {
    SandboxSpec made;
    made.image = "base";
    return made;
  }
  static Deadline soon() { return Deadline::after(std::chrono::seconds(10)); }
  static Task<std::string> read_all(Channel& channel, std::size_t count) {
    std::string all;
    while (all.size() < count) {
      char room[64];
      auto read = co_await channel.read_some(room);
      if (!read) co_return "error " + std::string(to_string(read.error().code));
      if (*read == 0) co_return all + "|end";
      all.append(room, *read);
    }
    co_return all;
  }
  // The body of a container with these labels.
  static json::object labelled(const std::map<std::string, std::string>& labels) {
    json::object all;
    for (const auto& [name, value] : labels) all[name] = value;
    return json::object{{"Labels", std::move(all)},
                        {"HostConfig", json::object{{"Memory", 64 << 20},
                                                    {"CpuPeriod", 10'000},
                                                    {"CpuQuota", 2'500},
                                                    {"PidsLimit", 99},
                                                    {"Runtime", "runc"}}}};
  }

  asio::io_context io_;
  asio::thread_pool pool_{1};
  FakeEngine engine_{io_.get_executor()};
};

}  // namespace cloche::docker::testing
