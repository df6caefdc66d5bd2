// From what others count to families of metrics. No I/O. Private to this folder.
#pragma once

#include <prometheus/metric_family.h>

#include <map>
#include <string>
#include <vector>

#include "metrics/metrics.hpp"

namespace cloche::metrics {

using Families = std::vector<prometheus::MetricFamily>;

void add_pools(Families& families, const std::map<std::string, PoolStats>& pools);
void add_sessions(Families& families, const session::SessionCounts& counts);
void add_http(Families& families, const http::ServerCounts& counts);
void add_unremoved(Families& families, std::size_t sandboxes);
void add_egress(Families& families, const egress::Totals& totals);
void add_internal_errors(Families& families, std::uint64_t count);

}  // namespace cloche::metrics
