// /sessions/{tenant}/{session}/proxy/{port}/{rest...}: HTTP, and WebSockets, with a server that listens on a port of
// the sandbox's own loopback.
#pragma once

#include "api/call.hpp"
#include "http/server/forwarding.hpp"
#include "session/store.hpp"

namespace cloche::api {

// The store outlives the router.
void add_proxy_routes(CallRouter& router, session::SessionStore& store, http::ForwardRules rules = {});

}  // namespace cloche::api
