// Trees into a session's workspace, as JSON or tar, and out of it, as tar.
#pragma once

#include "api/call.hpp"
#include "session/store.hpp"

namespace cloche::api {

// POST: all of the files or none. Makes the session if need be.
Task<Status> copy_in(session::SessionStore& store, Call& call);
// GET: what is at ?path=, the whole workspace when it is not said.
Task<Status> copy_out(session::SessionStore& store, Call& call);

}  // namespace cloche::api
