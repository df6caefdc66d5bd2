// Ports of a sandbox on which its own programs listen: HTTP and WebSockets, passed on.
#pragma once

#include "dialect/e2b/data_call.hpp"
#include "dialect/e2b/routing.hpp"
#include "dialect/e2b/sandboxes.hpp"

namespace cloche::dialect::e2b {

// Counts as a connection of the tenant. 502 as E2B says it if nothing listens.
Task<> serve_port(DataCall& call, const Sandbox& sandbox, Routed routed);

}  // namespace cloche::dialect::e2b
