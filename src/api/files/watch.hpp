// A directory of a session as a stream of events: what happens to the files in it.
#pragma once

#include "api/call.hpp"
#include "session/store.hpp"

namespace cloche::api {

// Answers with an event `ready`, then with `changes` until the client is gone or the server stops. A watch that ends
// otherwise has a last event `error`: the directory, the token or the session is gone, or the session is paused.
Task<Status> watch_files(session::SessionStore& store, Call& call);

}  // namespace cloche::api
