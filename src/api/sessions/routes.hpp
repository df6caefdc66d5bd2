// /sessions: made, listed, looked at, ended. A tenant sees and ends its own, an admin all.
#pragma once

#include "api/call.hpp"
#include "session/store.hpp"

namespace cloche::api {

// The store outlives the router.
void add_session_routes(CallRouter& router, session::SessionStore& store);

}  // namespace cloche::api
