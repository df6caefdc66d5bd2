// The relay: the parent of an agent whose connections to the server may be cut, or its child where the agent has to be
// process 1. See relay/protocol.hpp.
#pragma once

#include <sys/types.h>

namespace cloche::agent {

// Listens, starts the agent as its child, prints `ready`, and leaves its starter's session and descriptors. As process
// 1, and if it is asked to, it stays in the foreground; else it runs in a child, and the starter's process exits with 0
// when the relay is ready and with 1 if it could not start. The relay ends when the agent ends, and the agent ends when
// the relay does.
[[noreturn]] void run_relay(bool foreground);

// For process 1, before it becomes the agent: listens, and starts a relay as its child, with pipes that become stdin
// and stdout of this process. Both end when either does: the agent at the end of its stdin, the relay with process 1.
// Exits with a message if that is impossible.
pid_t start_relay_below();

}  // namespace cloche::agent
