// Asks package managers of this host which hosts they are configured to use. Blocking.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/learn/destinations.hpp"
#include "core/result.hpp"
#include "egress/policy/address.hpp"

namespace cloche::cli {

// The surroundings of the clients; tests bring their own.
struct ClientHost {
  std::vector<std::string> directories;            // where programs are searched
  std::map<std::string, std::string> environment;  // of this process
};
ClientHost this_host();

const std::vector<std::string>& known_clients();
// not_found if the client is not installed; `unavailable` if it fails.
Result<Learned> ask_client(const std::string& client, const ClientHost& host);

using LookUp = std::function<std::vector<egress::Address>(const std::string& name)>;
// By the host's resolver; none if the name has no address.
std::vector<egress::Address> look_up(const std::string& name);

struct LearnedRules {
  std::vector<std::pair<std::string, std::string>> allow;  // rules, and what each is for
  std::vector<std::string> notes;                          // what the reader has to add
};
// Addresses that are not public are rules of their own.
LearnedRules to_rules(const std::map<std::string, Learned>& by_client, const LookUp& look_up);
// A rule set for the configuration.
std::string to_yaml(const std::string& name, const LearnedRules& rules);

}  // namespace cloche::cli
