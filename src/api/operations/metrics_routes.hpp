// GET /metrics, for Prometheus. An admin's, since it tells of all tenants together.
#pragma once

#include "api/call.hpp"
#include "metrics/metrics.hpp"

namespace cloche::api {

// The metrics outlive the router.
void add_metrics_routes(CallRouter& router, const metrics::Metrics& metrics);

}  // namespace cloche::api
