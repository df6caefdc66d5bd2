// A network as two lists of destinations, as some clients describe it: what is allowed, what is denied. What is allowed
// wins there; here what is denied does.
#pragma once

#include <string>
#include <vector>

#include "cloche/network.hpp"
#include "core/result.hpp"

namespace cloche::egress {

struct OutLists {
  std::vector<std::string> allow;  // addresses, blocks, names, `*.NAME`
  std::vector<std::string> deny;   // addresses and blocks
};

// Without `0.0.0.0/0` in `deny` everything else is allowed. Addresses count for every port, names for 80 and 443.
// invalid_argument for a name in `deny`, and for a name in `allow` if not everything else is denied: the denied
// addresses are not known before a name is resolved.
Result<NetworkPolicy> network_of(const OutLists& lists);

}  // namespace cloche::egress
