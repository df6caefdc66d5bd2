#include "backend/docker/engine/options.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace cloche::docker {
namespace {

std::string endpoint_of(std::string host, std::string certificates = "") {
  DockerOptions options;
  options.host = std::move(host);
  options.certificates = std::move(certificates);
  const auto endpoint = engine_endpoint(options);
  return endpoint ? http::describe(*endpoint) : std::string(to_string(endpoint.error().code));
}

TEST(EngineEndpoint, KnownForms_AreUnderstood) {
  EXPECT_EQ(endpoint_of("unix:///run/docker.sock"), "unix:///run/docker.sock");
  EXPECT_EQ(endpoint_of("tcp://10.0.0.1:4000"), "tcp://10.0.0.1:4000");
  EXPECT_EQ(endpoint_of("tcp://engine"), "tcp://engine:2375");
  EXPECT_EQ(endpoint_of("tcp://engine/"), "tcp://engine:2375");
  EXPECT_EQ(endpoint_of("tcp://engine", "/certs"), "tls://engine:2376");
  EXPECT_EQ(endpoint_of("tcp://[::1]:99"), "tcp://[::1]:99");
  EXPECT_EQ(endpoint_of("tcp://[::1]"), "tcp://[::1]:2375");
}

TEST(EngineEndpoint, OtherForms_AreRefused) {
  EXPECT_EQ(endpoint_of("ssh://host"), "unsupported");
  EXPECT_EQ(endpoint_of(""), "unsupported");
  EXPECT_EQ(endpoint_of("unix://relative"), "invalid_argument");
  EXPECT_EQ(endpoint_of("tcp://"), "invalid_argument");
  EXPECT_EQ(endpoint_of("tcp://host:0"), "invalid_argument");
  EXPECT_EQ(endpoint_of("tcp://host:70000"), "invalid_argument");
  EXPECT_EQ(endpoint_of("tcp://host/path:1"), "invalid_argument");
  EXPECT_EQ(endpoint_of("tcp://ho st:1"), "invalid_argument");
}

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    if (value)
      ::setenv(name, value, 1);
    else
      ::unsetenv(name);
  }
  ~Environment() {
    if (old_)
      ::setenv(name_, old_->c_str(), 1);
    else
      ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(DockerOptionsFromEnvironment, Variables_AreReadAsTheDockerCommandDoes) {
  const Environment host("DOCKER_HOST", "tcp://engine:1"), verify("DOCKER_TLS_VERIFY", "1"),
      path("DOCKER_CERT_PATH", "/c");
  EXPECT_EQ(docker_options_from_environment().host, "tcp://engine:1");
  EXPECT_EQ(docker_options_from_environment().certificates, "/c");
  {
    const Environment no_path("DOCKER_CERT_PATH", nullptr), home("HOME", "/home/me");
    EXPECT_EQ(docker_options_from_environment().certificates, "/home/me/.docker");
  }
  const Environment no_verify("DOCKER_TLS_VERIFY", nullptr), no_host("DOCKER_HOST", nullptr);
  EXPECT_EQ(docker_options_from_environment().certificates, "");
  EXPECT_EQ(docker_options_from_environment().host, "unix:///var/run/docker.sock");
}

TEST(ValidateDockerOptions, OddNamesAndRelativePaths_AreRefused) {
  DockerOptions options;
  EXPECT_FALSE(validate(options));
  options.instance = {"one"};
  EXPECT_TRUE(validate(options));
  options.instance = {"one=two"};
  EXPECT_FALSE(validate(options));
  options.instance = {"one"};
  options.name_prefix = "-x";
  EXPECT_FALSE(validate(options));
  options.name_prefix = "x";
  options.host_path_map = {{"data", "/data"}};
  EXPECT_FALSE(validate(options));
}

}  // namespace
}  // namespace cloche::docker
