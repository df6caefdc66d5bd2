// GET /sessions/{tenant}/{session}/terminal: a program on a terminal in the session's sandbox, over a WebSocket. Binary
// messages are bytes both ways, text messages are control; see messages.hpp.
#pragma once

#include "api/call.hpp"
#include "session/store.hpp"

namespace cloche::api {

struct TerminalRules {
  // A terminal ends after this time in any case.
  std::chrono::milliseconds wall = std::chrono::hours(8);
  // A terminal on which nothing is typed and nothing printed for so long is ended: it would keep its session for ever.
  std::chrono::milliseconds idle = std::chrono::minutes(30);
};

// A terminal counts as a run: in its session, and in the tenant's quota. Store and quotas outlive the router.
void add_terminal_routes(CallRouter& router, session::SessionStore& store, auth::Quotas& quotas, TerminalRules rules);

}  // namespace cloche::api
