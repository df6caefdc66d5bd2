// Shared parts of tests with a real engine. They run if CLOCHE_TEST_DOCKER_HOST is set; otherwise each test notes that
// in the file CLOCHE_MISSING_LOG and is skipped.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio.hpp>
#include <functional>
#include <memory>
#include <string>

#include "backend/docker/docker_backend.hpp"
#include "backend/docker/engine/engine.hpp"

namespace cloche::docker::testing {

class RealEngine : public ::testing::Test {
 protected:
  void SetUp() override;
  // Nothing of the test's instance is left, and what was derived from its agent is removed.
  void TearDown() override;

  DockerOptions options() const;
  std::unique_ptr<Backend> backend() const;
  std::unique_ptr<Backend> backend(DockerOptions options) const;
  static SandboxSpec spec(std::string runtime, std::string image = "cloche-test/busybox");
  static Deadline soon() { return Deadline::after(std::chrono::seconds(60)); }

  // Runs the coroutine to its end.
  void run(std::function<Task<>()> body);
  // Makes a sandbox, hands it to `body`, and destroys it.
  void with_sandbox(SandboxSpec spec, std::function<Task<>(Enclosure&)> body);
  void with_sandbox(DockerOptions options, SandboxSpec spec, std::function<Task<>(Enclosure&)> body);

  // Orders for the echo agent, and what it says up to the line that ends the order.
  static Task<std::string> read_line(Channel& channel);
  static Task<std::string> order(Channel& channel, std::string line);
  static Task<std::string> shell(Channel& channel, const std::string& command);

  Task<std::size_t> count_containers(std::string label, std::string value);
  // Removes the images that hold this agent.
  void remove_derived(const std::string& agent_path);

  mutable asio::io_context io_;
  mutable asio::thread_pool pool_{1};
  std::string host_;
  std::string certificates_;
  std::string instance_;
  std::string agent_path_;
  std::shared_ptr<Engine> engine_;
};

}  // namespace cloche::docker::testing
