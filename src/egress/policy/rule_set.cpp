#include "egress/policy/rule_set.hpp"

#include <algorithm>
#include <cctype>

#include "core/file_error.hpp"

namespace cloche::egress {

namespace {

std::unexpected<Error> invalid(const EgressRule& rule, const std::string& why) {
  return fail(ErrorCode::invalid_argument, "invalid rule `" + shown(rule.host) + "`: " + why);
}

// As RFC 9110 defines the name of a header or a method.
bool is_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](unsigned char c) {
    return std::isalnum(c) || marks.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool is_method(std::string_view text) {
  return is_token(text) && std::ranges::none_of(text, [](unsigned char c) { return std::islower(c); });
}

bool is_path(std::string_view text) {
  return text.starts_with('/') &&
         std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '?' && c != '#'; });
}

bool is_query_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '~';
  });
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Result<SecretUse> to_secret_use(const EgressRule& rule) {
  const EgressSecretUse& from = *rule.secret;
  SecretUse use;
  use.secret = from.secret;
  use.name = from.name;
  use.value_template = from.value;
  switch (from.where) {
    case EgressSecretUse::Where::header:
      use.where = SecretUse::Where::header;
      if (!is_token(from.name)) return invalid(rule, "`" + shown(from.name) + "` is not the name of a header");
      break;
    case EgressSecretUse::Where::basic:
      use.where = SecretUse::Where::basic_auth;
      if (has_control(from.name) || from.name.find(':') != std::string::npos) {
        return invalid(rule, "`" + shown(from.name) + "` is not a user of basic authentication");
      }
      break;
    case EgressSecretUse::Where::query:
      use.where = SecretUse::Where::query;
      if (!is_query_name(from.name)) return invalid(rule, "`" + shown(from.name) + "` is not a query parameter");
      break;
  }
  if (from.value.find("{secret}") == std::string::npos || has_control(from.value)) {
    return invalid(rule, "the value of a header must contain `{secret}` and no control characters");
  }
  return use;
}

}  // namespace

bool is_rule_set_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '_' || c == '-';
  });
}

Result<Rule> to_rule(const EgressRule& from, Effect effect) {
  CLOCHE_TRY(Rule rule, parse_rule(from.host));
  if (!from.ports.empty() && !rule.ports.empty()) return invalid(from, "it has ports in `host` and in `ports`");
  for (const std::string& ports : from.ports) {
    CLOCHE_TRY(const PortRange range, parse_ports(ports));
    rule.ports.push_back(range);
  }
  for (const std::string& method : from.methods) {
    if (!is_method(method)) return invalid(from, "`" + shown(method) + "` is not a method such as GET");
  }
  for (const std::string& path : from.paths) {
    if (!is_path(path)) return invalid(from, "`" + shown(path) + "` is not a path such as /v1");
  }
  rule.methods = from.methods;
  rule.paths = from.paths;
  if (!from.secret) return rule;
  if (effect == Effect::deny) return invalid(from, "a rule that denies has no secret");
  const bool by_name = std::holds_alternative<ExactName>(rule.host) || std::holds_alternative<NamesBelow>(rule.host);
  if (!by_name) return invalid(from, "a secret is for a name or `*.NAME`");
  CLOCHE_TRY(rule.secret, to_secret_use(from));
  return rule;
}

Result<RuleSets> to_rule_sets(const EgressOptions& options) {
  RuleSets sets;
  for (const auto& [name, from] : options.rules) {
    const auto refused = [&name](Error error) { return fail(std::move(error).at("rule set `" + shown(name) + "`")); };
    if (!is_rule_set_name(name)) {
      return refused(
          {ErrorCode::invalid_argument, "a name of a rule set is lower-case letters, digits, '_' and '-', at most 64"});
    }
    RuleSet& set = sets[name];
    for (const auto& [effect, rules, to] :
         {std::tuple(Effect::allow, &from.allow, &set.allow), std::tuple(Effect::deny, &from.deny, &set.deny)}) {
      for (const EgressRule& each : *rules) {
        auto rule = to_rule(each, effect);
        if (!rule) return refused(std::move(rule).error());
        if (rule->secret && !options.secrets.contains(rule->secret->secret)) {
          return refused({ErrorCode::invalid_argument,
                          "no such secret: `" + shown(rule->secret->secret) + "`; add it to `egress.secrets`"});
        }
        to->push_back(std::move(*rule));
      }
    }
  }
  return sets;
}

}  // namespace cloche::egress
