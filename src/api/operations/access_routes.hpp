// GET /access: who may use which profile, secret and language. An admin's, since it names all tenants' things. Never a
// value.
#pragma once

#include "api/call.hpp"
#include "pool/manager.hpp"

namespace cloche::api {

// The manager outlives the router.
void add_access_routes(CallRouter& router, const pool::Manager& pools);

}  // namespace cloche::api
