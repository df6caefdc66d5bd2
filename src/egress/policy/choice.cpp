#include "egress/policy/choice.hpp"

#include "core/file_error.hpp"
#include "egress/policy/network_mode.hpp"

namespace cloche::egress {

namespace {

Result<Rule> rule_of_author(const std::string& text, Effect effect, const Rights& rights) {
  CLOCHE_TRY(Rule rule, parse_rule(text));
  const auto* block = std::get_if<AddressBlock>(&rule.host);
  const bool opens_reserved = effect == Effect::allow && block != nullptr && is_reserved(*block);
  if (opens_reserved && !rights.may_open_reserved) {
    return fail(ErrorCode::invalid_argument,
                "invalid rule `" + shown(text) +
                    "`: these addresses are not public, and only a rule set of the operator can allow them");
  }
  return rule;
}

}  // namespace

Rights Rights::of_operator() {
  return {.may_choose = true, .may_use_set = [](std::string_view) { return true; }, .may_open_reserved = true};
}

Result<Policy> policy_of(const NetworkPolicy& network, const RuleSets& sets, const Rights& rights) {
  CLOCHE_CHECK(check_shape(network));
  Policy policy;
  policy.network = network.mode;
  if (network.mode == Network::none) return policy;
  if (!rights.may_choose) {
    return fail(ErrorCode::not_found, "there is no network to choose; leave `network` out or set it to `none`");
  }
  for (const std::string& name : network.rules) {
    const bool allowed = is_rule_set_name(name) && rights.may_use_set(name);
    const auto set = sets.find(name);
    if (!allowed || set == sets.end()) {
      return fail(ErrorCode::not_found, "no such rule set: `" + shown(name) + "`");
    }
    policy.allow.insert(policy.allow.end(), set->second.allow.begin(), set->second.allow.end());
    policy.deny.insert(policy.deny.end(), set->second.deny.begin(), set->second.deny.end());
  }
  for (const std::string& text : network.allow) {
    CLOCHE_TRY(Rule rule, rule_of_author(text, Effect::allow, rights));
    policy.allow.push_back(std::move(rule));
  }
  for (const std::string& text : network.deny) {
    CLOCHE_TRY(Rule rule, rule_of_author(text, Effect::deny, rights));
    policy.deny.push_back(std::move(rule));
  }
  return policy;
}

}  // namespace cloche::egress
