#include "config/sections/egress_section.hpp"

#include "config/sections/profile_section.hpp"
#include "config/sections/secrets_section.hpp"
#include "config/sections/tenants_section.hpp"
#include "config/text.hpp"
#include "egress/policy/rule_set.hpp"
#include "sandbox/spec.hpp"

namespace cloche::config {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view clean_path = "an absolute path without '..', '.' or empty parts";
constexpr std::uint64_t most_connections = 1024;  // that an agent carries
constexpr std::uint64_t most_events = 100'000;

EgressSecretUse read_secret_use(Section& section) {
  EgressSecretUse use;
  section.text("name", use.secret);
  section.text("header", use.name);
  section.text("value", use.value);
  if (section.has("basic")) use.where = EgressSecretUse::Where::basic;
  section.text("basic", use.name);
  if (section.has("query")) use.where = EgressSecretUse::Where::query;
  section.text("query", use.name);
  if (int{section.has("header")} + int{section.has("basic")} + int{section.has("query")} != 1) {
    section.refuse("set exactly one of `header`, `basic` and `query`");
  }
  if (!section.has("name")) section.refuse("name is required");
  if (section.has("value") && !section.has("header")) section.refuse("value", "is for a header alone");
  return use;
}

EgressRule read_rule(Section& section) {
  EgressRule rule;
  section.text("host", rule.host);
  section.texts("ports", rule.ports);
  section.texts("methods", rule.methods);
  section.texts("paths", rule.paths);
  section.section("secret", [&](Section& below) { rule.secret = read_secret_use(below); });
  if (!section.has("host")) section.refuse("host is required");
  return rule;
}

void read_rules(Section& section, std::string_view key, egress::Effect effect, std::vector<EgressRule>& rules) {
  const auto add = [&](EgressRule rule, const std::function<void(const std::string&)>& refuse) {
    if (const auto made = egress::to_rule(rule, effect); !made) refuse(made.error().message);
    rules.push_back(std::move(rule));
  };
  const auto read_text = [&](const std::string& text) {
    EgressRule rule;
    rule.host = text;
    add(std::move(rule), [&](const std::string& why) { section.refuse(key, why); });
  };
  section.list(key, read_text, [&](Section& item) {
    add(read_rule(item), [&](const std::string& why) { item.check(fail(ErrorCode::invalid_argument, why)); });
  });
}

void read_rule_sets(Section& section, Egress& egress) {
  section.sections("rules", [&](const std::string& name, Section& below) {
    if (!egress::is_rule_set_name(name)) {
      below.refuse("a rule set name must be lower-case letters, digits, '_' and '-', at most 64, not " + shown(name));
    }
    EgressRuleSet& set = egress.options.rules[name];
    read_rules(below, "allow", egress::Effect::allow, set.allow);
    read_rules(below, "deny", egress::Effect::deny, set.deny);
    if (auto tenants = read_tenants(below)) egress.rule_sets.emplace(name, std::move(*tenants));
  });
}

EgressSecret read_secret_source(Section& section, const std::string& name) {
  EgressSecret secret;
  const auto take = [&](std::string_view key, EgressSecret::Source source) {
    section.text(key, secret.text);
    if (section.has(key)) secret.source = source;
  };
  take("value", EgressSecret::Source::value);
  take("env", EgressSecret::Source::env);
  take("file", EgressSecret::Source::file);
  std::string directory;
  section.text("directory", directory);
  section.texts("command", secret.command);
  int given = 0;
  for (const char* key : {"value", "env", "file", "directory", "command"}) given += int{section.has(key)};
  if (given != 1) section.refuse("set exactly one of `env`, `file`, `directory`, `command` and `value`");
  if (section.has("directory")) {
    secret.source = EgressSecret::Source::file;
    secret.text = directory + "/" + name;
  }
  if (section.has("command")) {
    secret.source = EgressSecret::Source::command;
    if (secret.command.empty() || !is_clean_absolute_path(secret.command.front())) {
      section.refuse("command", "must begin with " + std::string(clean_path));
    }
  }
  if (secret.source == EgressSecret::Source::file && !is_clean_absolute_path(secret.text)) {
    section.refuse(section.has("file") ? "file" : "directory", "must be " + std::string(clean_path));
  }
  if (secret.source == EgressSecret::Source::env && !is_variable_name(secret.text)) {
    section.refuse("env", shown(secret.text) + " is not a valid environment variable name");
  }
  return secret;
}

void read_egress_secrets(Section& section, Egress& egress) {
  section.sections("secrets", [&](const std::string& name, Section& below) {
    if (!is_variable_name(name)) {
      below.refuse("a secret name must be letters, digits and '_', and must not start with a digit");
    }
    egress.options.secrets[name] = read_secret_source(below, name);
    if (below.has("value")) egress.holds_secrets = true;
  });
}

// It may contain a password, so it can be outside the file, too.
void read_upstream(Section& section, const Environment& environment, Egress& egress) {
  constexpr std::string_view key = "upstream_proxy";
  std::string& proxy = egress.options.upstream_proxy;
  if (section.kind(key) == YamlNode::Kind::map) {
    section.section(key, [&](Section& below) {
      std::string name, path;
      below.text("env", name);
      below.text("file", path);
      if (below.has("env") == below.has("file")) return below.refuse("set exactly one of `env` and `file`");
      if (below.has("env")) {
        proxy = variable(environment, name);
        if (proxy.empty()) below.refuse("env", "no such environment variable: " + shown(name));
        return;
      }
      auto content = read_secret_file(path);
      if (!content) return below.refuse("file", content.error().message);
      proxy = std::move(*content);
    });
  } else {
    section.text(key, proxy);
    if (proxy.find('@') != std::string::npos) egress.holds_secrets = true;
  }
  if (section.has(key) && !proxy.starts_with("http://")) {
    section.refuse(key, "must be http://[USER:PASSWORD@]HOST:PORT");
  }
}

}  // namespace

Egress read_egress(Section& section, const Environment& environment) {
  Egress egress;
  EgressOptions& options = egress.options;
  read_egress_secrets(section, egress);
  read_rule_sets(section, egress);
  section.section("choose", [&](Section& below) {
    if (auto tenants = read_tenants(below)) egress.choose = std::move(*tenants);
  });
  read_upstream(section, environment, egress);
  section.text("extra_ca", options.extra_ca, clean_path, is_clean_absolute_path);
  std::uint32_t port = options.port;
  section.whole("port", port, {1024, 65535});
  options.port = static_cast<std::uint16_t>(port);
  section.whole("max_connections", options.max_connections, {1, most_connections});
  section.whole("events", options.events, {1, most_events});
  section.duration("resolve_timeout", options.resolve_timeout, {100ms, 1min});
  section.duration("connect_timeout", options.connect_timeout, {100ms, 2min});
  section.duration("idle_timeout", options.idle_timeout, {1s, 24h});
  if (const auto sets = egress::to_rule_sets(options); !sets) section.check(fail(sets.error()));
  return egress;
}

}  // namespace cloche::config
