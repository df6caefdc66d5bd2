// The query of a sandbox's metrics: from when to when. No I/O.
#pragma once

#include <optional>

#include "core/result.hpp"
#include "dialect/e2b/time_text.hpp"
#include "http/server/request/target.hpp"

namespace cloche::dialect::e2b {

struct MetricQuery {
  std::optional<Moment> start;
  std::optional<Moment> end;

  // Whether a sample of this moment is wanted. A sample represents the 5 seconds before it, as E2B's do: a client that
  // asks for all until now sends its question a little later.
  bool has(Moment sample) const;
};

// `start` and `end` are in seconds since 1970. `invalid_argument` if one is not a number, or if the end is first.
Result<MetricQuery> read_metric_query(const http::Query& query);

}  // namespace cloche::dialect::e2b
