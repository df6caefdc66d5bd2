// Whether the uids that sandboxes get on this host belong to someone else: to sandboxes of the other backend, or to
// containers of users (subordinate uids).
#pragma once

#include <string>
#include <vector>

#include "cloche/engine_options.hpp"

namespace cloche {

// One finding for each backend that gives uids of this host. An engine on another host gives none of this one.
std::vector<HostFinding> examine_uid_overlap(const EngineOptions& options,
                                             const std::string& subordinate_file = "/etc/subuid");

}  // namespace cloche
