// Rule sets: rules that a configuration has checked, by name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/egress.hpp"
#include "egress/policy/rule.hpp"

namespace cloche::egress {

struct RuleSet {
  std::vector<Rule> allow;
  std::vector<Rule> deny;
  bool operator==(const RuleSet&) const = default;
};
using RuleSets = std::map<std::string, RuleSet, std::less<>>;

// Lower-case letters, digits, '_' and '-'; at most 64.
bool is_rule_set_name(std::string_view text);

// invalid_argument says what is wrong. A secret is for hosts by name: neither for `*` nor for an address, and not in a
// rule that denies.
Result<Rule> to_rule(const EgressRule& rule, Effect effect);
// The error names the rule set.
Result<RuleSets> to_rule_sets(const EgressOptions& options);

}  // namespace cloche::egress
