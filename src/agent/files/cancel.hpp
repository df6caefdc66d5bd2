// How a worker is stopped so that it can still clean up: SIGTERM, and SIGKILL only if it does not end.
#pragma once

namespace cloche::agent {

// From now on SIGTERM interrupts what the process waits for; the request fails with `cancelled` after its cleanup.
void cancel_on_sigterm();

// True once the signal came.
bool cancelled();

// For tests, and for a process that handles a second request.
void forget_cancellation();

}  // namespace cloche::agent
