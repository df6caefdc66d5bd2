#include "backend/docker/testing/real_engine.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backend/docker/engine/container_calls.hpp"
#include "backend/docker/engine/image_calls.hpp"
#include "backend/docker/image/agent_archive.hpp"
#include "backend/docker/labels.hpp"
#include "core/ids.hpp"
#include "http/testing/scripted_server.hpp"
#include "support/missing.hpp"

namespace cloche::docker::testing {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Removes the images that hold the test's agent.
Task<> remove_derived_images(Engine& engine, std::string checksum) {
  Call call;
  call.method = "GET";
  call.path = "/images/json";
  const json::object filters{{"label", json::array{std::string(labels::agent) + "=" + checksum}}};
  call.query.emplace_back("filters", boost::json::serialize(filters));
  call.accepts = {200};
  auto answer = co_await engine.call(std::move(call), Deadline::after(std::chrono::seconds(30)));
  if (!answer || !answer->body.is_array()) co_return;
  for (const json::value& image : answer->body.get_array()) {
    for (const std::string& tag : json::texts(json::find(image, "RepoTags"))) {
      auto removed = co_await remove_image(engine, tag, Deadline::after(std::chrono::seconds(30)));
      EXPECT_TRUE(removed) << removed.error().message;
    }
  }
}

}  // namespace

void RealEngine::SetUp() {
  host_ = environment("CLOCHE_TEST_DOCKER_HOST");
  if (host_.empty()) CLOCHE_CANNOT_TEST("docker", "CLOCHE_TEST_DOCKER_HOST names no engine");
  instance_ = "test-" + random_hex(6);
  // Another program for each test, so that its derived images are its own too: tests run side by side.
  agent_path_ = std::filesystem::temp_directory_path() / ("cloche-agent-" + instance_);
  std::filesystem::copy_file(CLOCHE_TEST_AGENT, agent_path_);
  std::ofstream(agent_path_, std::ios::app | std::ios::binary) << instance_;
  engine_ = std::make_shared<Engine>(io_.get_executor(), engine_endpoint(options()).value());
}

void RealEngine::TearDown() {
  if (!engine_) return;
  run([this]() -> Task<> {
    for (const char* label : {labels::instance, labels::deriving_owner}) {
      const std::size_t left = co_await count_containers(label, instance_);
      EXPECT_EQ(left, 0u) << "containers with " << label << " are left";
    }
  });
  remove_derived(agent_path_);
  std::filesystem::remove(agent_path_);
}

void RealEngine::remove_derived(const std::string& agent_path) {
  const auto agent = load_agent(agent_path);
  ASSERT_TRUE(agent);
  run([&]() -> Task<> { co_await remove_derived_images(*engine_, (*agent)->sha256); });
}

DockerOptions RealEngine::options() const {
  DockerOptions made;
  made.host = host_;
  made.certificates = certificates_;
  made.instance = {instance_};
  made.agent_path = agent_path_;
  made.pull = PullPolicy::never;
  made.name_prefix = "cloche-test";
  return made;
}

std::unique_ptr<Backend> RealEngine::backend() const { return backend(options()); }

std::unique_ptr<Backend> RealEngine::backend(DockerOptions wanted) const {
  return create_docker_backend(io_.get_executor(), pool_, std::move(wanted)).value();
}

SandboxSpec RealEngine::spec(std::string runtime, std::string image) {
  SandboxSpec made;
  made.image = std::move(image);
  made.runtime = std::move(runtime);
  made.uid = 1000;  // of the programs that the echo agent starts
  made.limits.memory = mib(96);
  made.limits.cpus = 1;
  return made;
}

void RealEngine::run(std::function<Task<>()> body) {
  io_.restart();
  EXPECT_TRUE(http::testing::run_to_end(io_, std::move(body), std::chrono::seconds(100)));
}

void RealEngine::with_sandbox(SandboxSpec wanted, std::function<Task<>(Enclosure&)> body) {
  with_sandbox(options(), std::move(wanted), std::move(body));
}

void RealEngine::with_sandbox(DockerOptions how, SandboxSpec wanted, std::function<Task<>(Enclosure&)> body) {
  run([&]() -> Task<> {
    auto made = backend(how);
    auto enclosure = co_await made->create(wanted, soon());
    EXPECT_TRUE(enclosure) << enclosure.error().message;
    if (!enclosure) co_return;
    co_await body(**enclosure);
    auto destroyed = co_await (*enclosure)->destroy(soon());
    EXPECT_TRUE(destroyed) << destroyed.error().message;
  });
}

Task<std::string> RealEngine::read_line(Channel& channel) {
  std::string line;
  for (;;) {
    char c = 0;
    auto count = co_await channel.read_some(std::span<char>(&c, 1));
    if (!count) co_return "error: " + count.error().message;
    if (*count == 0) co_return line + "|end";
    if (c == '\n') co_return line;
    line += c;
  }
}

Task<std::string> RealEngine::order(Channel& channel, std::string line) {
  line += "\n";
  auto written = co_await channel.write_all(line);
  if (!written) co_return "error: " + written.error().message;
  std::string all;
  for (;;) {
    const std::string next = co_await read_line(channel);
    all += next;
    if (next.starts_with("= ") || next.starts_with("error: ") || next.ends_with("|end")) co_return all;
    all += "\n";
  }
}

Task<std::string> RealEngine::shell(Channel& channel, const std::string& command) {
  return order(channel, "!sh " + command);
}

Task<std::size_t> RealEngine::count_containers(std::string label, std::string value) {
  LabelMap wanted;
  wanted[label] = value;
  auto found = co_await list_containers(*engine_, std::move(wanted), soon());
  EXPECT_TRUE(found) << found.error().message;
  co_return found ? found->size() : 0;
}

}  // namespace cloche::docker::testing
