/// @file
/// NetworkPolicy: what the programs of a sandbox can reach outside of it.
#pragma once

#include <string>
#include <vector>

namespace cloche {

/// Which destinations are allowed without a rule of their own.
enum class Network {
  none,        ///< None: programs reach only their own loopback interface.
  allow_list,  ///< None, but rules allow some.
  internet,    ///< Every public address.
};

/// What programs can reach. A sandbox has no network interface but its loopback: connections are carried by the server,
/// which applies this policy to each of them.
struct NetworkPolicy {
  Network mode = Network::none;    ///< What is allowed without a rule.
  std::vector<std::string> rules;  ///< Names of rule sets; see ManagerOptions::egress.
  /// Allowed destinations: `HOST`, `HOST:PORT` or `HOST:FIRST-LAST`, where HOST is a name, `*.NAME`, `*`, an address or
  /// a block of addresses. Without a port: 80 and 443.
  std::vector<std::string> allow;
  std::vector<std::string> deny;  ///< Refused destinations, in the same form. They take precedence.

  bool operator==(const NetworkPolicy&) const = default;  ///< Compares all members.
};

}  // namespace cloche
