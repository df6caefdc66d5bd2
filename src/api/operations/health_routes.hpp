// /healthz: the process responds. /readyz: it can provide sandboxes; if not, the response says what is missing.
#pragma once

#include "http/server/routed.hpp"
#include "pool/manager.hpp"

namespace cloche::api {

// Both outlive the router.
void add_health_routes(http::Router<http::RouteHandler>& router, pool::Manager& pools, Backend& backend);

}  // namespace cloche::api
