// The lease interface of the autograder's sandbox manager: /sandboxes, /stats, /api/v1/execute. Its stock client works
// unchanged. Errors are {"detail": message}.
#pragma once

#include "api/lease_book.hpp"
#include "http/server/routed.hpp"

namespace cloche::api {

// Both outlive the router.
void add_lease_routes(http::Router<http::RouteHandler>& router, LeaseBook& book, runner::CodeRunner& runner);

}  // namespace cloche::api
