// Work in the network namespace of another process, or in one of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "core/result.hpp"

namespace cloche::oci {

// Calls `work` on a thread of its own in the namespace, and waits for it. The namespace of the caller does not change;
// programs that `work` starts are in the other one.
Status in_network_of(pid_t process, const std::function<Status()>& work);
// The same in a namespace that is open.
Status in_network(int network, const std::function<Status()>& work);
// The same in a new namespace whose loopback is up, and which is gone afterwards.
Status in_new_network(const std::function<Status()>& work);

// All addresses become local ones, so that packets for them are seen at all: they would be rejected for lack of a
// route. Their sender has the loopback address. For IPv4, and for IPv6 where the kernel has it.
Status make_all_addresses_local();

// Adds an IPv4 address (in host byte order) to the loopback interface.
Status add_loopback_address(std::uint32_t address);

}  // namespace cloche::oci
