// /sessions/{tenant}/{session}/contexts: the interpreters of a session that live on from call to call. Code is run in
// them by /execute with `context`.
#pragma once

#include "api/call.hpp"
#include "session/store.hpp"

namespace cloche::api {

// The store outlives the router.
void add_context_routes(CallRouter& router, session::SessionStore& store);

}  // namespace cloche::api
