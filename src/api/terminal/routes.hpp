// GET /sessions/{tenant}/{session}/terminal: a program on a terminal in the session's sandbox, over a WebSocket. Binary
// messages are bytes both ways, text messages are control; see messages.hpp.
#pragma once

#include "api/call.hpp"
#include "session/store.hpp"

namespace cloche::api {

struct TerminalRules {
  // A terminal on which nothing is typed and nothing printed for so long is ended: it would keep its session for ever.
  std::chrono::steady_clock::duration idle = std::chrono::minutes(30);
};

// The store outlives the router.
void add_terminal_routes(CallRouter& router, session::SessionStore& store, TerminalRules rules = {});

}  // namespace cloche::api
