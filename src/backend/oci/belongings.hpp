// What has the id of an owner on this host, and its removal: for owners without a running process.
#pragma once

#include <vector>

#include "backend/oci/host.hpp"
#include "core/cancel_token.hpp"
#include "sandbox/backend.hpp"

namespace cloche::oci {

// Cgroups, uid ranges, GPUs, and below this host's run directory the directories of sandboxes and mounts, of all
// owners.
Result<std::vector<Belonging>> find_belongings(const Host& host);

// Removes what a Cloche without owner ids left in the directory of this instance's name, if its sandbox has one of
// these names.
Status remove_former(const Host& host, const std::vector<std::string>& names, const CancelToken& token);

// Removes all that carries this instance's id.
Status remove_belongings(Host& host, const CancelToken& token);

}  // namespace cloche::oci
