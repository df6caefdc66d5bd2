// What this host can and cannot do for sandboxes, and what to do about it: the oci backend's part of `doctor`.
#pragma once

#include <vector>

#include "backend/oci/host.hpp"
#include "core/cancel_token.hpp"
#include "sandbox/backend.hpp"

namespace cloche::oci {

// Runs a small sandbox with each runtime that is here and not known to work.
std::vector<Finding> examine_host(Host& host, const CancelToken& token);

}  // namespace cloche::oci
