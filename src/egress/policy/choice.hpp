// From what a profile, a claim or a session says about its network to the policy that the broker applies.
#pragma once

#include <functional>
#include <string_view>

#include "cloche/network.hpp"
#include "egress/policy/policy.hpp"
#include "egress/policy/rule_set.hpp"

namespace cloche::egress {

// What the author of a network may do.
struct Rights {
  bool may_choose = false;                                 // a network other than `none`
  std::function<bool(std::string_view name)> may_use_set;  // rule sets by name
  bool may_open_reserved = false;                          // addresses that are not public, by a rule of its own

  // The operator: in a profile, or as the program that embeds the library.
  static Rights of_operator();
};

// not_found if the author may choose no network, with the same message as where there is none to choose, and for a rule
// set that does not exist or that it may not use. invalid_argument for a rule that is invalid, or that names addresses
// which are not public without the right to do so.
Result<Policy> policy_of(const NetworkPolicy& network, const RuleSets& sets, const Rights& rights);

}  // namespace cloche::egress
