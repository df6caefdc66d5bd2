// /sessions: create, list, show, end. A tenant sees and ends its own sessions, an admin those of all tenants.
#pragma once

#include "api/call.hpp"
#include "session/store.hpp"

namespace cloche::api {

// The store outlives the router.
void add_session_routes(CallRouter& router, session::SessionStore& store);

}  // namespace cloche::api
