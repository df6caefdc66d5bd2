// A handler made of routes.
#pragma once

#include "http/server/exchange.hpp"
#include "http/server/router.hpp"

namespace cloche::http {

using RouteHandler = std::function<Task<>(Exchange&, const PathParameters&)>;

// A request's route is its label `route`. Paths that no route has are refused with 404, methods that a path has not
// with 405 and Allow.
Handler serve_routes(Router<RouteHandler> router);

}  // namespace cloche::http
