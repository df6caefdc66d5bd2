#include "config/sections/network_section.hpp"

#include "egress/policy/network_mode.hpp"

namespace cloche::config {

namespace {

void read_mode(Section& section, std::string_view key, Network& mode) {
  section.choice(key, mode,
                 {{egress::to_string(Network::none), Network::none},
                  {egress::to_string(Network::allow_list), Network::allow_list},
                  {egress::to_string(Network::internet), Network::internet}});
}

}  // namespace

void read_network(Section& section, NetworkPolicy& network) {
  constexpr std::string_view key = "network";
  if (section.kind(key) != YamlNode::Kind::map) return read_mode(section, key, network.mode);
  section.section(key, [&](Section& below) {
    network.mode = Network::allow_list;
    read_mode(below, "mode", network.mode);
    below.texts("rules", network.rules);
    below.texts("allow", network.allow);
    below.texts("deny", network.deny);
  });
}

}  // namespace cloche::config
