// docs/configuration.md describes the configuration file correctly.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "config/config.hpp"

namespace cloche::config {
namespace {

std::string documentation() {
  std::ifstream file(CLOCHE_DOCS "/configuration.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The block of YAML behind this line.
std::string example(const std::string& heading) {
  const std::string text = documentation();
  const auto at = text.find("\n" + heading + "\n");
  const auto begin = text.find("```yaml\n", at);
  const auto end = text.find("\n```", begin);
  if (at == text.npos || begin == text.npos || end == text.npos) return {};
  return text.substr(begin + 8, end + 1 - (begin + 8));
}

TEST(Documentation, ExampleOfTheFile_IsRead) {
  const std::string text = example("### An example of cloche.yml");
  ASSERT_FALSE(text.empty());
  const auto config = parse_config(text, "cloche.yml", {{"GRADER_TOKEN", "x"}, {"REPORT_KEY", "y"}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->manager.profiles.size(), 2U);
  EXPECT_EQ(config->manager.profiles.at(0).pool.scale_limit, 12U);
  EXPECT_TRUE(config->access.profiles.at("python").allows("default"));
  EXPECT_TRUE(config->access.secrets.at("REPORT_KEY").allows("graders"));
}

TEST(Documentation, ExampleOfAService_IsRead) {
  const std::string text = example("### The service");
  ASSERT_FALSE(text.empty());
  const auto config = parse_config(text, "cloche.yml", {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->server.tls);
  EXPECT_EQ(config->server.quotas.named.size(), 1U);
}

TEST(Documentation, ExampleOfEgress_IsRead) {
  const std::string text = example("### Egress");
  ASSERT_FALSE(text.empty());
  const auto config = parse_config(text, "cloche.yml", {{"HTTPS_PROXY", "http://proxy.internal:3128"}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->manager.egress.rules.size(), 3U);
  EXPECT_EQ(config->manager.profiles.at(0).network.mode, Network::allow_list);
  EXPECT_TRUE(config->access.network.allows("research"));
  EXPECT_EQ(config->manager.egress.upstream_proxy, "http://proxy.internal:3128");
}

TEST(Documentation, ExampleOfTheAutograder_IsRead) {
  const std::string text = example("### The autograder's file");
  ASSERT_FALSE(text.empty());
  const auto config = parse_config(text, "sandbox_config.yml", {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->manager.name_prefix, "ag-sbx");
  EXPECT_EQ(config->manager.profiles.size(), 5U);
}

// An unknown key's error lists all that are known: each must be in the documentation.
TEST(Documentation, EveryKey_IsInIt) {
  const std::string text = documentation();
  int keys = 0;
  for (const std::string wrong : {"zzzzzzzzzz: 1",
                                  "docker: {zzzzzzzzzz: 1}",
                                  "e2b: {zzzzzzzzzz: 1}",
                                  "kubernetes: {zzzzzzzzzz: 1}",
                                  "kubernetes: {tolerations: [{zzzzzzzzzz: 1}]}",
                                  "disk: {zzzzzzzzzz: 1}",
                                  "pool: {zzzzzzzzzz: 1}",
                                  "limits: {zzzzzzzzzz: 1}",
                                  "profiles: {a: {zzzzzzzzzz: 1}}",
                                  "profiles: {a: {mounts: [{zzzzzzzzzz: 1, source: /a, target: /b}]}}",
                                  "profiles: {a: {zygotes: [{zzzzzzzzzz: 1}]}}",
                                  "server: {zzzzzzzzzz: 1}",
                                  "server: {tls: {zzzzzzzzzz: 1}}",
                                  "server: {jwt: {zzzzzzzzzz: 1}}",
                                  "server: {quotas: {zzzzzzzzzz: 1}}",
                                  "server: {quotas: {requests: {zzzzzzzzzz: 1}}}",
                                  "server: {limits: {zzzzzzzzzz: 1}}",
                                  "secrets: {A: {zzzzzzzzzz: 1, env: X}}",
                                  "sessions: {zzzzzzzzzz: 1}",
                                  "sessions: {max_limits: {zzzzzzzzzz: 1}}",
                                  "sessions: {artifacts: {zzzzzzzzzz: 1}}",
                                  "log: {zzzzzzzzzz: 1}",
                                  "dialects: {zzzzzzzzzz: 1}",
                                  "dialects: {e2b: {zzzzzzzzzz: 1}}",
                                  "profiles: {a: {network: {zzzzzzzzzz: 1}}}",
                                  "egress: {zzzzzzzzzz: 1}",
                                  "egress: {rules: {a: {zzzzzzzzzz: 1}}}",
                                  "egress: {rules: {a: {allow: [{zzzzzzzzzz: 1, host: a.net}]}}}",
                                  "egress: {rules: {a: {allow: [{host: a.net, secret: {zzzzzzzzzz: 1}}]}}}",
                                  "egress: {choose: {zzzzzzzzzz: 1}}",
                                  "egress: {secrets: {A: {zzzzzzzzzz: 1, env: X}}}",
                                  "egress: {upstream_proxy: {zzzzzzzzzz: 1, env: X}}"}) {
    const auto config = parse_config(wrong, "c", {});
    ASSERT_FALSE(config);
    const std::string intro = "known keys: ";
    const auto at = config.error().message.find(intro);
    ASSERT_NE(at, std::string::npos) << config.error().message;
    std::istringstream known(config.error().message.substr(at + intro.size()));
    for (std::string key; std::getline(known >> std::ws, key, ',');) {
      EXPECT_NE(text.find("`" + key + "`"), text.npos) << key << ", which " << wrong << " tells of";
      ++keys;
    }
  }
  EXPECT_GT(keys, 80);
}

}  // namespace
}  // namespace cloche::config
