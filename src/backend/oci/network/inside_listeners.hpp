// Listeners of this process on the loopback of a sandbox's network.
#pragma once

#include <cstdint>

#include "backend/oci/process_identity.hpp"
#include "sandbox/backend.hpp"

namespace cloche::oci {

// In the network of a sandbox whose first process this is; see Enclosure::listen_inside. unsupported if that is the
// network of this process. Blocking, for some milliseconds at most.
Result<InsideListeners> listen_in_network_of(const ProcessIdentity& first, std::uint16_t proxy_port, bool redirected);

}  // namespace cloche::oci
