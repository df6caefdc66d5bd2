// Rule sets as a configuration writes them.
#include "egress/policy/rule_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::egress {
namespace {

using ::testing::HasSubstr;

EgressRule rule_for(std::string host) {
  EgressRule rule;
  rule.host = std::move(host);
  return rule;
}

EgressRule with_secret(std::string host, EgressSecretUse::Where where, std::string name) {
  EgressRule rule = rule_for(std::move(host));
  rule.secret = EgressSecretUse{.secret = "KEY", .where = where, .name = std::move(name), .value = "Bearer {secret}"};
  return rule;
}

std::string refusal(const EgressRule& rule, Effect effect = Effect::allow) {
  const auto made = to_rule(rule, effect);
  return made ? "accepted" : made.error().message;
}

TEST(RuleSet, StructuredRule_HasAllParts) {
  EgressRule from = rule_for("api.example");
  from.ports = {"443", "8000-8999"};
  from.methods = {"GET", "POST"};
  from.paths = {"/v1"};
  const auto rule = to_rule(from, Effect::allow);
  ASSERT_TRUE(rule) << rule.error().message;
  EXPECT_EQ(rule->text(), "api.example:443,8000-8999");
  EXPECT_EQ(rule->methods, from.methods);
  EXPECT_EQ(rule->paths, from.paths);
}

TEST(RuleSet, InvalidPart_IsNamed) {
  EgressRule rule = rule_for("api.example:443");
  rule.ports = {"80"};
  EXPECT_THAT(refusal(rule), HasSubstr("`host` and in `ports`"));
  rule = rule_for("api.example");
  rule.ports = {"0"};
  EXPECT_THAT(refusal(rule), HasSubstr("invalid ports"));
  for (const char* method : {"", "get", "GE T", "GET\r\n"}) {
    rule = rule_for("api.example");
    rule.methods = {method};
    EXPECT_THAT(refusal(rule), HasSubstr("is not a method")) << method;
  }
  for (const char* path : {"", "v1", "/a b", "/a?b", "/a#b"}) {
    rule = rule_for("api.example");
    rule.paths = {path};
    EXPECT_THAT(refusal(rule), HasSubstr("is not a path")) << path;
  }
  EXPECT_THAT(refusal(rule_for("")), HasSubstr("invalid rule"));
}

TEST(RuleSet, Secret_IsForNamesAndForAllowedOnes) {
  using Where = EgressSecretUse::Where;
  const auto rule = to_rule(with_secret("api.example", Where::header, "Authorization"), Effect::allow);
  ASSERT_TRUE(rule) << rule.error().message;
  EXPECT_EQ(rule->secret->value_template, "Bearer {secret}");
  EXPECT_EQ(refusal(with_secret("*.example", Where::basic, "user")), "accepted");
  EXPECT_EQ(refusal(with_secret("api.example", Where::query, "key")), "accepted");
  EXPECT_THAT(refusal(with_secret("*", Where::header, "A")), HasSubstr("a name or `*.NAME`"));
  EXPECT_THAT(refusal(with_secret("10.0.0.1", Where::header, "A")), HasSubstr("a name or `*.NAME`"));
  EXPECT_THAT(refusal(with_secret("api.example", Where::header, "A"), Effect::deny), HasSubstr("no secret"));
  EXPECT_THAT(refusal(with_secret("api.example", Where::header, "A:")), HasSubstr("name of a header"));
  EXPECT_THAT(refusal(with_secret("api.example", Where::basic, "a:b")), HasSubstr("basic authentication"));
  EXPECT_THAT(refusal(with_secret("api.example", Where::query, "a&b")), HasSubstr("query parameter"));
  EgressRule plain = with_secret("api.example", Where::header, "A");
  plain.secret->value = "Bearer";
  EXPECT_THAT(refusal(plain), HasSubstr("must contain `{secret}`"));
}

TEST(RuleSet, SecretThatIsMissing_IsNamed) {
  EgressOptions options;
  options.rules["api"].allow = {with_secret("api.example", EgressSecretUse::Where::header, "A")};
  const auto sets = to_rule_sets(options);
  ASSERT_FALSE(sets);
  EXPECT_THAT(sets.error().message, HasSubstr("rule set `api`: no such secret: `KEY`"));
  options.secrets["KEY"] = {};
  EXPECT_TRUE(to_rule_sets(options));
}

TEST(RuleSet, InvalidName_IsRejected) {
  for (const char* name : {"", "A", "a.b", "a b"}) {
    EgressOptions options;
    options.rules[name];
    EXPECT_FALSE(to_rule_sets(options)) << name;
  }
}

}  // namespace
}  // namespace cloche::egress
