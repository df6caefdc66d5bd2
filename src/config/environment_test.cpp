#include "config/environment.hpp"

#include <gmock/gmock.h>

#include "config/config.hpp"

namespace cloche::config {
namespace {

using testing::HasSubstr;

TEST(Environment, Variables_StandOverTheFile) {
  const char* text =
      "backend: oci\nstate_dir: /file/state\nrun_dir: /file/run\ninstance: file\ndocker: {host: unix:///file.sock}\n";
  const Environment environment{{"CLOCHE_BACKEND", "docker"},
                                {"CLOCHE_STATE_DIR", "/env/state"},
                                {"CLOCHE_RUN_DIR", "/env/run"},
                                {"CLOCHE_INSTANCE", "env-1"},
                                {"DOCKER_HOST", "tcp://engine:2375"}};
  const auto from_file = parse_config(text, "cloche.yml", {})->manager.engine;
  EXPECT_EQ(from_file.backend, BackendKind::oci);
  EXPECT_EQ(from_file.state_dir, "/file/state");
  EXPECT_EQ(from_file.run_dir, "/file/run");
  EXPECT_EQ(from_file.instance, "file");
  EXPECT_EQ(from_file.docker_host, "unix:///file.sock");
  const auto from_environment = parse_config(text, "cloche.yml", environment)->manager.engine;
  EXPECT_EQ(from_environment.backend, BackendKind::docker);
  EXPECT_EQ(from_environment.state_dir, "/env/state");
  EXPECT_EQ(from_environment.run_dir, "/env/run");
  EXPECT_EQ(from_environment.instance, "env-1");
  EXPECT_EQ(from_environment.docker_host, "tcp://engine:2375");
}

TEST(Environment, BothNamesOfTheBackend_OursWins) {
  const auto backend = [](const Environment& environment) {
    return parse_config("", "cloche.yml", environment)->manager.engine.backend;
  };
  EXPECT_EQ(backend({{"SANDBOX_BACKEND", "docker"}}), BackendKind::docker);
  EXPECT_EQ(backend({{"SANDBOX_BACKEND", "docker"}, {"CLOCHE_BACKEND", "oci"}}), BackendKind::oci);
  EXPECT_EQ(backend({{"SANDBOX_BACKEND", "docker"}, {"CLOCHE_BACKEND", ""}}), BackendKind::docker);
}

TEST(Environment, WorkerImage_IsThatOfDockerProfilesWithoutOne) {
  const char* text = "profiles: {a: , b: {image: mine}}";
  const auto image = [&](const Environment& environment, std::size_t profile) {
    return parse_config(text, "cloche.yml", environment)->manager.profiles.at(profile).sandbox.image;
  };
  EXPECT_EQ(image({}, 0), "");
  EXPECT_EQ(image({{"SANDBOX_WORKER_IMAGE", "worker:1"}}, 0), "");  // oci has the host's own /usr
  EXPECT_EQ(image({{"CLOCHE_BACKEND", "docker"}}, 0), "python:3.12-slim");
  EXPECT_EQ(image({{"CLOCHE_BACKEND", "docker"}, {"SANDBOX_WORKER_IMAGE", "worker:1"}}, 0), "worker:1");
  EXPECT_EQ(image({{"CLOCHE_BACKEND", "docker"}, {"SANDBOX_WORKER_IMAGE", "worker:1"}}, 1), "mine");
}

TEST(Environment, BadVariable_IsNamed) {
  const struct {
    const char *name, *value, *error;
  } cases[] = {
      {"CLOCHE_BACKEND", "lxc",
       "environment variable CLOCHE_BACKEND must be one of oci, docker, e2b, kubernetes, not `lxc`"},
      {"SANDBOX_BACKEND", "k8s",
       "environment variable SANDBOX_BACKEND must be one of oci, docker, e2b, kubernetes, not `k8s`"},
      {"CLOCHE_STATE_DIR", "state", "environment variable CLOCHE_STATE_DIR must be an absolute path"},
      {"CLOCHE_RUN_DIR", "/run/../tmp", "environment variable CLOCHE_RUN_DIR must be an absolute path"},
      {"CLOCHE_INSTANCE", "a b", "environment variable CLOCHE_INSTANCE must be letters, digits and '-'"},
  };
  for (const auto& test : cases) {
    const auto config = parse_config("", "cloche.yml", {{test.name, test.value}});
    ASSERT_FALSE(config) << test.name;
    EXPECT_EQ(config.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(config.error().message, HasSubstr(test.error));
  }
}

TEST(Environment, OfTheProcess_HasItsVariables) { EXPECT_FALSE(variable(process_environment(), "PATH").empty()); }

}  // namespace
}  // namespace cloche::config
