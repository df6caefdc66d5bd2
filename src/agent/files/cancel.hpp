// How a worker is told to stop and still gets to clean up after itself: SIGTERM, and SIGKILL only if it does not end.
#pragma once

namespace cloche::agent {

// From now on SIGTERM interrupts what the process waits for; the request fails with `cancelled` after its cleanup.
void cancel_on_sigterm();

// True once the signal came.
bool cancelled();

// For tests, and for a process that does a second request.
void forget_cancellation();

}  // namespace cloche::agent
