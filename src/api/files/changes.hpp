// Routes that change names or parts of files: /stat, /delete, /move, /mkdir, /edit.
#pragma once

#include "api/call.hpp"
#include "session/store.hpp"

namespace cloche::api {

// The store outlives the router.
void add_change_routes(CallRouter& router, session::SessionStore& store);

}  // namespace cloche::api
