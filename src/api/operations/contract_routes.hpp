// GET /openapi.yaml: the API description of this service, docs/openapi.yaml at build time. It is public because it
// contains nothing that the source does not.
#pragma once

#include <string_view>

#include "http/server/routed.hpp"

namespace cloche::api {

void add_contract_routes(http::Router<http::RouteHandler>& router);

// The text itself.
std::string_view contract_text();

}  // namespace cloche::api
