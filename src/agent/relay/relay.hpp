// The relay: the parent of an agent whose connections to the server may be cut. See relay/protocol.hpp.
#pragma once

namespace cloche::agent {

// Listens, starts the agent as its child, prints `ready`, and leaves its starter's session and descriptors. As process
// 1, and if it is asked to, it stays in the foreground; else it runs in a child, and the starter's process exits with 0
// when the relay is ready and with 1 if it could not start. The relay ends when the agent ends, and the agent ends when
// the relay does.
[[noreturn]] void run_relay(bool foreground);

}  // namespace cloche::agent
