// GET /metrics, for Prometheus. It requires an admin, because it covers all tenants.
#pragma once

#include "api/call.hpp"
#include "metrics/metrics.hpp"

namespace cloche::api {

// The metrics outlive the router.
void add_metrics_routes(CallRouter& router, const metrics::Metrics& metrics);

}  // namespace cloche::api
