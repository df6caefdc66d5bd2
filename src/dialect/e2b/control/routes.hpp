// The routes of the control plane, by what they are about.
#pragma once

#include "dialect/e2b/control/call.hpp"

namespace cloche::dialect::e2b {

// Create, connect, resume, show, list, end.
void add_sandbox_routes(ControlRouter& router);
// Time, pause, network.
void add_change_routes(ControlRouter& router);
// Metrics and logs.
void add_report_routes(ControlRouter& router);
// Snapshots and copies.
void add_snapshot_routes(ControlRouter& router);

// What E2B has and Cloche has in another form: what to use instead. Empty for any other path.
std::string instead_of(const http::Target& target);

}  // namespace cloche::dialect::e2b
