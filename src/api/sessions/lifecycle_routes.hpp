// /sessions/{tenant}/{session}/pause, resume, timeout, metrics: a session stopped and continued, its time, what it
// uses.
#pragma once

#include "api/call.hpp"
#include "session/store.hpp"

namespace cloche::api {

// The store outlives the router.
void add_lifecycle_routes(CallRouter& router, session::SessionStore& store);

}  // namespace cloche::api
