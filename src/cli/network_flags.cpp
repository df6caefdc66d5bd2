#include "cli/network_flags.hpp"

#include "egress/policy/network_mode.hpp"
#include "library/throwing.hpp"

namespace cloche::cli {

void NetworkFlags::add_to(CLI::App& command) {
  command.add_option("--network", mode, "What programs can reach: none, allow-list or internet")
      ->check(CLI::IsMember({"none", "allow-list", "internet"}));
  command.add_option("--allow", allow, "Allow a destination: HOST, HOST:PORT or HOST:FIRST-LAST; may be repeated")
      ->type_name("RULE")
      ->allow_extra_args(false);
  command.add_option("--deny", deny, "Refuse a destination; may be repeated")
      ->type_name("RULE")
      ->allow_extra_args(false);
}

void NetworkFlags::add_rule_sets_to(CLI::App& command) {
  command.add_option("--rules", rules, "Allow what this rule set of the service allows; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

std::optional<NetworkPolicy> NetworkFlags::network() const {
  if (mode.empty() && rules.empty() && allow.empty() && deny.empty()) return std::nullopt;
  NetworkPolicy network{.mode = Network::allow_list, .rules = rules, .allow = allow, .deny = deny};
  if (!mode.empty()) network.mode = value_or_throw(egress::parse_network(mode));
  value_or_throw(egress::check_shape(network));
  return network;
}

}  // namespace cloche::cli
