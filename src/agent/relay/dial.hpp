// One connection of the server to the relay.
#pragma once

namespace cloche::agent {

// Copies stdin to the relay's socket, and what comes from there to stdout, until either ends. If no relay listens, it
// refuses the handshake in its place, so that the server knows that the agent is gone, and exits with 1.
// `patient`: waits some seconds for a relay first, where a connection may be made before the relay listens.
[[noreturn]] void run_dial(bool patient = false);

}  // namespace cloche::agent
