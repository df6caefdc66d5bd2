// Files of a session: /read, /read_binary, /write, /grep, /glob, those of changes.hpp, and trees in and out by
// /sessions/{tenant}/{session}/copy and /files.
#pragma once

#include "api/call.hpp"
#include "session/store.hpp"

namespace cloche::api {

// The store outlives the router.
void add_file_routes(CallRouter& router, session::SessionStore& store);

}  // namespace cloche::api
