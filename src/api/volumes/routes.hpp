// /volumes: create, list, show, delete. A tenant has its own volumes, an admin those of all tenants.
#pragma once

#include "api/call.hpp"
#include "volume/volumes.hpp"

namespace cloche::api {

// Both outlive the router.
void add_volume_routes(CallRouter& router, volume::Volumes& volumes, const auth::Quotas& quotas);

}  // namespace cloche::api
