// /snapshots, and snapshots and forks of a session. A tenant has its own snapshots, an admin those of all tenants.
#pragma once

#include "api/call.hpp"
#include "session/store.hpp"
#include "snapshot/snapshots.hpp"

namespace cloche::api {

// Both outlive the router.
void add_snapshot_routes(CallRouter& router, session::SessionStore& store, snapshot::Snapshots& snapshots);

}  // namespace cloche::api
