// Configuration and variables of the service: `server:`, `sessions:`, `log:`.
#include <gmock/gmock.h>

#include "config/config.hpp"

namespace cloche::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Config read(const std::string& text, const Environment& environment = {}) {
  auto config = parse_config(text, "cloche.yml", environment);
  EXPECT_TRUE(config) << config.error().message;
  return config ? std::move(*config) : Config{};
}

TEST(ServiceConfig, NoKeys_GiveTheDefaults) {
  const Config config = read("");
  EXPECT_TRUE(config.server.listen.empty());
  EXPECT_EQ(config.server.auth, AuthMode::automatic);
  EXPECT_TRUE(config.server.tokens.empty());
  EXPECT_FALSE(config.server.tls);
  EXPECT_FALSE(config.server.jwt);
  EXPECT_FALSE(config.server.quotas.limits.sessions);
  EXPECT_EQ(config.server.tenant_bodies.of("acme"), mib(128));
  EXPECT_EQ(config.server.limits.body_budget, mib(512));
  EXPECT_EQ(config.sessions.profile, "session");
  EXPECT_EQ(config.sessions.idle_timeout, 900s);
  EXPECT_EQ(config.sessions.paused_timeout, 24h);
  EXPECT_EQ(config.sessions.most, 50u);
  EXPECT_FALSE(config.sessions.memory);
  EXPECT_EQ(config.sessions.image, "");
  EXPECT_EQ(config.log.level, "info");
  EXPECT_EQ(config.log.form, LogForm::automatic);
}

TEST(ServiceConfig, Server_IsRead) {
  const ServerSettings server = read(R"(
server:
  listen: ["0.0.0.0:8443", "unix:/run/cloche.sock"]
  tls: {certificate: /etc/cloche/chain.pem, key: /etc/cloche/key.pem}
  auth: tokens
  tokens: /etc/cloche/tokens.json
  jwt:
    keys: /etc/cloche/jwks.json
    form: jwks
    issuer: https://issuer.example
    audience: cloche
    tenant_claim: org
    role_claim: rights
    leeway: 10s
  quotas:
    sessions: 5
    runs: 10
    contexts: 11
    leases: 12
    calls: 13
    streams: 14
    connections: 15
    files: 16
    requests: {per_second: 20, burst: 40}
    tenants:
      acme: {sessions: 50, requests: {per_second: 7.5}, bodies: 200m}
  limits: {body: 2m, body_budget: 1g, body_rate: 1k, body_window: 7s, connections: 64, head_timeout: 5s, idle_timeout: 1m,
           write_timeout: 20s}
)")
                                    .server;
  EXPECT_THAT(server.listen, ElementsAre("0.0.0.0:8443", "unix:/run/cloche.sock"));
  ASSERT_TRUE(server.tls);
  EXPECT_EQ(server.tls->certificate, "/etc/cloche/chain.pem");
  EXPECT_EQ(server.tls->key, "/etc/cloche/key.pem");
  EXPECT_EQ(server.auth, AuthMode::tokens);
  EXPECT_EQ(server.tokens, "/etc/cloche/tokens.json");
  ASSERT_TRUE(server.jwt);
  EXPECT_EQ(server.jwt->key_file, "/etc/cloche/jwks.json");
  EXPECT_EQ(server.jwt->key_form, auth::KeyForm::jwks);
  EXPECT_EQ(server.jwt->claims.issuer, "https://issuer.example");
  EXPECT_EQ(server.jwt->claims.audience, "cloche");
  EXPECT_EQ(server.jwt->claims.tenant_claim, "org");
  EXPECT_EQ(server.jwt->claims.role_claim, "rights");
  EXPECT_EQ(server.jwt->claims.leeway, 10s);
  EXPECT_EQ(server.quotas.limits.sessions, 5u);
  EXPECT_EQ(server.quotas.limits.runs, 10u);
  EXPECT_EQ(server.quotas.limits.contexts, 11u);
  EXPECT_EQ(server.quotas.limits.leases, 12u);
  EXPECT_EQ(server.quotas.limits.calls, 13u);
  EXPECT_EQ(server.quotas.limits.streams, 14u);
  EXPECT_EQ(server.quotas.limits.connections, 15u);
  EXPECT_EQ(server.quotas.limits.files, 16u);
  EXPECT_EQ(server.quotas.limits.requests->per_second, 20);
  EXPECT_EQ(server.quotas.limits.requests->burst, 40u);
  const auth::QuotaLimits& acme = server.quotas.named.at("acme");
  EXPECT_EQ(acme.sessions, 50u);
  EXPECT_FALSE(acme.runs);
  EXPECT_FALSE(acme.calls);
  EXPECT_EQ(acme.streams, 256u);
  EXPECT_EQ(acme.requests->per_second, 7.5);
  EXPECT_EQ(acme.requests->burst, 7u);
  EXPECT_EQ(server.tenant_bodies.of("another"), mib(128));
  EXPECT_EQ(server.tenant_bodies.of("acme"), mib(200));
  EXPECT_EQ(server.limits.body, mib(2));
  EXPECT_EQ(server.limits.body_budget, mib(1024));
  EXPECT_EQ(server.limits.body_rate, kib(1));
  EXPECT_EQ(server.limits.body_window, 7s);
  EXPECT_EQ(server.limits.connections, 64u);
  EXPECT_EQ(server.limits.head_time, 5s);
  EXPECT_EQ(server.limits.idle, 60s);
  EXPECT_EQ(server.limits.write_stall, 20s);
}

TEST(ServiceConfig, RulesForArtifacts_AreRead) {
  EXPECT_EQ(read("log: {}").sessions.artifacts.usual, ChangeRules::Usual::ignored);
  const ChangeRules rules =
      read("sessions: {artifacts: {ignore: none, include: ['*.csv', 'out/**'], exclude: [tmp/]}}").sessions.artifacts;
  EXPECT_EQ(rules.usual, ChangeRules::Usual::told);
  EXPECT_EQ(rules.include, (std::vector<std::string>{"*.csv", "out/**"}));
  EXPECT_EQ(rules.exclude, std::vector<std::string>{"tmp/"});
}

TEST(ServiceConfig, SessionsAndLog_AreRead) {
  const Config config = read(
      "profiles: {agents: {}}\nsessions: {profile: agents, idle_timeout: 5m, paused_timeout: 48h, most: 7, memory: 1g, "
      "terminal_timeout: 2h, terminal_idle_timeout: 10m}\n"
      "log: {level: debug, format: json}\n");
  EXPECT_EQ(config.sessions.profile, "agents");
  EXPECT_EQ(config.sessions.idle_timeout, 300s);
  EXPECT_EQ(config.sessions.paused_timeout, 48h);
  EXPECT_EQ(config.sessions.most, 7u);
  EXPECT_EQ(config.sessions.memory, mib(1024));
  EXPECT_EQ(config.sessions.terminal_timeout, 2h);
  EXPECT_EQ(config.sessions.terminal_idle_timeout, 10min);
  EXPECT_EQ(config.log.level, "debug");
  EXPECT_EQ(config.log.form, LogForm::json);
}

TEST(ServiceConfig, BadKey_IsRefusedWithLineAndKey) {
  const struct {
    const char *text, *error;
  } cases[] = {
      {"server: {listn: []}", "unknown key `listn` (line 1) in server; did you mean `listen`?"},
      {"server: {listen: 8080}", "server.listen (line 1): must be a list of strings"},
      {"server: {listen: []}", "server.listen (line 1): must be a list of 1 to 16 addresses"},
      {"server: {tls: {certificate: /a}}", "server.tls (line 1): TLS requires both certificate and key"},
      {"server: {tls: {certificate: a, key: /b}}", "server.tls.certificate (line 1): must be an absolute path"},
      {"server: {auth: yes}", "server.auth (line 1): must be one of auto, tokens, none"},
      {"server: {auth: none, tokens: /t}", "server.auth (line 1): is none, but `tokens` or `jwt` is configured"},
      {"server: {tokens: t.json}", "server.tokens (line 1): must be an absolute path"},
      {"server: {jwt: {keys: /k, issuer: i}}", "server.jwt (line 1): JWTs require keys, issuer and audience; "},
      {"server: {jwt: {keys: /k, issuer: i, audience: a, leeway: 1h}}",
       "server.jwt.leeway (line 1): must be a duration"},
      {"server: {jwt: {keys: /k, issuer: i, audience: a, tenant_claim: x, role_claim: x}}",
       "server.jwt (line 1): JWT: tenant and role must be different claims"},
      {"server: {quotas: {runs: -1}}", "server.quotas.runs (line 1): must be a whole number"},
      {"server: {quotas: {requests: {burst: 3}}}", "server.quotas.requests (line 1): per_second is required"},
      {"server: {quotas: {requests: {per_second: 0}}}",
       "server.quotas.requests (line 1): requests per second must be from"},
      {"server: {quotas: {tenants: {\"a b\": {}}}}",
       "server.quotas.tenants[`a b`] (line 1): `a b` is not a valid tenant name"},
      {"server: {limits: {connections: 0}}", "server.limits.connections (line 1): must be a whole number"},
      {"sessions: {idle_timeout: 0}", "sessions.idle_timeout (line 1): must be a duration from 1s"},
      {"sessions: {terminal_timeout: 0}", "sessions.terminal_timeout (line 1): must be a duration from 1s"},
      {"sessions: {most: 5001}", "sessions.most (line 1): must be a whole number from 0 to 5000"},
      {"sessions: {artifacts: {ignore: all}}", "sessions.artifacts.ignore (line 1): must be one of default, none"},
      {"sessions: {artifacts: {exclude: [/a]}}", "sessions.artifacts.exclude (line 1): exclude: pattern is absolute"},
      {"sessions: {memory: much}", "sessions.memory (line 1): must be a number of bytes"},
      {"log: {level: loud}", "log.level (line 1): must be one of trace, debug, info, warn, error, off"},
      {"log: {format: xml}", "log.format (line 1): must be one of auto, text, json"},
  };
  for (const auto& test : cases) {
    const auto config = parse_config(test.text, "cloche.yml", {});
    ASSERT_FALSE(config) << test.text;
    EXPECT_EQ(config.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(config.error().message, StartsWith(std::string("cloche.yml: ") + test.error));
  }
}

TEST(ServiceConfig, Variables_StandOverTheFile) {
  const Config config = read("sessions: {idle_timeout: 5m, most: 7, memory: 1g}", {{"SANDBOX_IDLE_TIMEOUT", "60"},
                                                                                   {"SANDBOX_MAX_SESSIONS", "3"},
                                                                                   {"SANDBOX_MEM_LIMIT", "256m"},
                                                                                   {"SANDBOX_BACKEND", "docker"},
                                                                                   {"SANDBOX_WORKER_IMAGE", "mine:1"}});
  EXPECT_EQ(config.sessions.idle_timeout, 60s);
  EXPECT_EQ(config.sessions.most, 3u);
  EXPECT_EQ(config.sessions.memory, mib(256));
  EXPECT_EQ(config.sessions.image, "mine:1");
}

TEST(ServiceConfig, BadVariable_IsNamed) {
  const struct {
    const char *name, *value, *error;
  } cases[] = {
      {"SANDBOX_IDLE_TIMEOUT", "soon", "environment variable SANDBOX_IDLE_TIMEOUT must be a number of seconds"},
      {"SANDBOX_IDLE_TIMEOUT", "0", "environment variable SANDBOX_IDLE_TIMEOUT must be a number of seconds"},
      {"SANDBOX_MAX_SESSIONS", "-1", "environment variable SANDBOX_MAX_SESSIONS must be a whole number from 0 to 5000"},
      {"SANDBOX_MAX_SESSIONS", "1e9", "environment variable SANDBOX_MAX_SESSIONS must be a whole number"},
      {"SANDBOX_MEM_LIMIT", "lots", "environment variable SANDBOX_MEM_LIMIT must be an amount of memory"},
      {"SANDBOX_BACKEND", "k8s",
       "environment variable SANDBOX_BACKEND must be one of oci, docker, e2b, kubernetes, not `k8s`"},
  };
  for (const auto& test : cases) {
    const auto config = parse_config("", "cloche.yml", {{test.name, test.value}});
    ASSERT_FALSE(config) << test.name;
    EXPECT_THAT(config.error().message, HasSubstr(test.error));
  }
}

TEST(ServiceConfig, VariablesForGpus_AreTrueOrFalse) {
  for (const char* off : {"", "false", "False", "0", "no", "off"}) {
    EXPECT_FALSE(parse_config("", "c", {{"SANDBOX_GPU_ENABLED", off}})->sessions.gpus) << off;
  }
  for (const char* on : {"true", "TRUE", "1", "yes", "on"}) {
    EXPECT_TRUE(parse_config("", "c", {{"SANDBOX_GPU_ENABLED", on}})->sessions.gpus) << on;
    EXPECT_TRUE(parse_config("", "c", {{"SANDBOX_GPU_NETWORK_ENABLED", on}})->sessions.gpus_with_network) << on;
  }
  for (const char* name : {"SANDBOX_GPU_ENABLED", "SANDBOX_GPU_NETWORK_ENABLED"}) {
    const auto refused = parse_config("", "c", {{name, "maybe"}});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr(name));
  }
}

}  // namespace
}  // namespace cloche::config
