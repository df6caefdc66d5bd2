// `egress:` and the network of a profile, as a configuration writes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.hpp"

namespace cloche::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Config parsed(const std::string& text, const Environment& environment = {}) {
  auto config = parse_config(text, "c.yml", environment);
  if (!config) ADD_FAILURE() << config.error().message;
  return config ? std::move(*config) : Config();
}

std::string refusal(const std::string& text, const Environment& environment = {}) {
  const auto config = parse_config(text, "c.yml", environment);
  return config ? "accepted" : config.error().message;
}

TEST(EgressSection, Missing_IsClosed) {
  const Config config = parsed("profiles: {a: {}}");
  EXPECT_TRUE(config.manager.egress.rules.empty());
  EXPECT_FALSE(config.access.network.allows("default"));
  EXPECT_EQ(config.manager.profiles.at(0).network, NetworkPolicy());
}

TEST(EgressSection, RuleSet_HasTextsAndMaps) {
  const Config config = parsed(R"(
egress:
  secrets: {KEY: {env: API_KEY}}
  rules:
    api:
      tenants: [acme]
      allow:
      - "*.example.org:443"
      - {host: api.example, ports: [443, 8000-8999], methods: [GET], paths: [/v1],
         secret: {name: KEY, header: Authorization, value: "Bearer {secret}"}}
      deny: [bad.example.org]
    local: {allow: [127.0.0.0/8:8080]}
)");
  const EgressRuleSet& set = config.manager.egress.rules.at("api");
  ASSERT_EQ(set.allow.size(), 2U);
  EXPECT_EQ(set.allow[0].host, "*.example.org:443");
  EXPECT_THAT(set.allow[1].ports, ElementsAre("443", "8000-8999"));
  EXPECT_THAT(set.allow[1].methods, ElementsAre("GET"));
  EXPECT_EQ(set.allow[1].secret->secret, "KEY");
  EXPECT_EQ(set.allow[1].secret->value, "Bearer {secret}");
  EXPECT_EQ(set.deny.at(0).host, "bad.example.org");
  EXPECT_TRUE(config.access.rule_sets.at("api").allows("acme"));
  EXPECT_FALSE(config.access.rule_sets.contains("local"));
}

TEST(EgressSection, NetworkOfAProfile_IsAWordOrAMap) {
  EXPECT_EQ(parsed("profiles: {a: {network: internet}}").manager.profiles.at(0).network.mode, Network::internet);
  const Config config = parsed(R"(
egress: {rules: {api: {allow: [api.example]}}}
profiles:
  a: {network: {rules: [api], allow: ["10.0.0.0/8:5432"], deny: [b.net]}}
  b: {network: {mode: internet, deny: [b.net]}}
)");
  const NetworkPolicy& network = config.manager.profiles.at(0).network;
  EXPECT_EQ(network.mode, Network::allow_list);
  EXPECT_THAT(network.rules, ElementsAre("api"));
  EXPECT_THAT(network.allow, ElementsAre("10.0.0.0/8:5432"));
  EXPECT_EQ(config.manager.profiles.at(1).network.mode, Network::internet);
}

TEST(EgressSection, ProfileThatNamesAMissingRuleSet_IsRejected) {
  EXPECT_THAT(refusal("profiles:\n  a:\n    network: {rules: [api]}"),
              HasSubstr("profiles.a.network (line 3): no such rule set: `api`"));
  EXPECT_THAT(refusal("profiles: {a: {network: {mode: none, allow: [a.net]}}}"), HasSubstr("`none` has no rules"));
  EXPECT_THAT(refusal("profiles: {a: {network: {allow: ['a.net:0']}}}"), HasSubstr("invalid rule `a.net:0`"));
}

TEST(EgressSection, InvalidRule_IsReportedWithItsLine) {
  EXPECT_THAT(refusal("egress:\n  rules:\n    a:\n      allow: ['a b']"), HasSubstr("egress.rules.a.allow (line 4): "));
  EXPECT_THAT(refusal("egress:\n  rules:\n    a:\n      allow:\n      - {host: a.net, methods: [get]}"),
              HasSubstr("egress.rules.a.allow[0] (line 5): "));
  EXPECT_THAT(refusal("egress: {rules: {a: {allow: [{ports: [80]}]}}}"), HasSubstr("host is required"));
  EXPECT_THAT(refusal("egress: {rules: {A: {}}}"), HasSubstr("a rule set name must be"));
  EXPECT_THAT(refusal("egress: {rules: {a: {allow: [{host: a.net, secret: {name: K, header: A}}]}}}"),
              HasSubstr("no such secret: `K`"));
  EXPECT_THAT(refusal("egress: {rules: {a: {allow: [{host: a.net, secret: {name: K, header: A, query: b}}]}}}"),
              HasSubstr("exactly one of `header`"));
}

TEST(EgressSection, Choose_IsClosedUntilItListsTenants) {
  EXPECT_FALSE(parsed("egress: {choose: {}}").access.network.allows("a"));
  EXPECT_TRUE(parsed("egress: {choose: {tenants: [a]}}").access.network.allows("a"));
  EXPECT_FALSE(parsed("egress: {choose: {tenants: [a]}}").access.network.allows("b"));
  EXPECT_TRUE(parsed("egress: {choose: {tenants: all}}").access.network.allows("b"));
}

TEST(EgressSection, UpstreamProxy_MayComeFromTheEnvironment) {
  const Environment environment{{"HTTPS_PROXY", "http://u:p@proxy:3128"}};
  EXPECT_EQ(parsed("egress: {upstream_proxy: {env: HTTPS_PROXY}}", environment).manager.egress.upstream_proxy,
            "http://u:p@proxy:3128");
  EXPECT_EQ(parsed("profiles: {}", environment).manager.egress.upstream_proxy, "");
  EXPECT_FALSE(parsed("egress: {upstream_proxy: {env: HTTPS_PROXY}}", environment).holds_secrets);
  EXPECT_TRUE(parsed("egress: {upstream_proxy: 'http://u:p@proxy:3128'}").holds_secrets);
  EXPECT_FALSE(parsed("egress: {upstream_proxy: 'http://proxy:3128'}").holds_secrets);
  EXPECT_THAT(refusal("egress: {upstream_proxy: {env: HTTPS_PROXY}}"), HasSubstr("no such environment variable"));
  EXPECT_THAT(refusal("egress: {upstream_proxy: 'socks5://proxy:1080'}"), HasSubstr("must be http://"));
}

TEST(EgressSection, SecretSources_AreOneOfFive) {
  const Config config = parsed(R"(
egress:
  secrets:
    A: {value: x}
    B: {env: API_KEY}
    C: {file: /etc/key}
    D: {directory: /run/secrets}
    E: {command: [/usr/bin/vault, read, key]}
)");
  const auto& secrets = config.manager.egress.secrets;
  EXPECT_TRUE(config.holds_secrets);
  EXPECT_EQ(secrets.at("A").text, "x");
  EXPECT_EQ(secrets.at("B").source, EgressSecret::Source::env);
  EXPECT_EQ(secrets.at("D").text, "/run/secrets/D");
  EXPECT_THAT(secrets.at("E").command, ElementsAre("/usr/bin/vault", "read", "key"));
  EXPECT_THAT(refusal("egress: {secrets: {A: {value: x, env: Y}}}"), HasSubstr("exactly one of"));
  EXPECT_THAT(refusal("egress: {secrets: {A: {command: [vault]}}}"), HasSubstr("must begin with an absolute path"));
  EXPECT_THAT(refusal("egress: {secrets: {A: {file: key}}}"), HasSubstr("must be an absolute path"));
}

TEST(EgressSection, LimitsAndTimeouts_HaveBounds) {
  const Config config = parsed("egress: {port: 8888, max_connections: 10, events: 5, resolve_timeout: 1s}");
  EXPECT_EQ(config.manager.egress.port, 8888);
  EXPECT_EQ(config.manager.egress.max_connections, 10U);
  EXPECT_THAT(refusal("egress: {port: 80}"), HasSubstr("from 1024 to 65535"));
  EXPECT_THAT(refusal("egress: {max_connections: 5000}"), HasSubstr("from 1 to 1024"));
}

}  // namespace
}  // namespace cloche::config
