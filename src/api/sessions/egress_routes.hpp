// GET /sessions/{tenant}/{session}/egress: what a session's programs connected to, or tried to.
#pragma once

#include "api/call.hpp"
#include "session/store.hpp"

namespace cloche::api {

// `?after=N`: only events with a higher number. `?follow=1`: a stream of events, from there or from Last-Event-ID on,
// until the session's way out is closed, or until the server stops.
void add_egress_routes(CallRouter& router, session::SessionStore& store);

}  // namespace cloche::api
