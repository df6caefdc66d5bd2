// The lease interface of the autograder's sandbox manager: /sandboxes, /stats, /api/v1/execute. Its stock client works
// unchanged where no token is needed. Errors are {"detail": message}.
#pragma once

#include "api/call.hpp"
#include "api/leases/lease_registry.hpp"

namespace cloche::api {

// Leases and runs belong to the caller's own tenant. All but the door outlive the router.
void add_lease_routes(http::Router<http::RouteHandler>& router, const ApiGuard& door, LeaseRegistry& registry,
                      runner::CodeRunner& runner, auth::Quotas& quotas);

}  // namespace cloche::api
