// Queries of a sandbox's log. No I/O.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "dialect/e2b/sandbox_log.hpp"
#include "http/server/request/target.hpp"

namespace cloche::dialect::e2b {

struct LogQuery {
  std::optional<Moment> from;  // entries since then or, backward, until then
  std::size_t limit = 1000;
  bool backward = false;
  std::string level;   // this one and graver ones; empty: all
  std::string search;  // a part of the message; empty: all
};

// `cursor`, `limit`, `direction`, `level` and `search`.
Result<LogQuery> read_log_query(const http::Query& query);
// `start` and `limit` of the old route.
Result<LogQuery> read_old_log_query(const http::Query& query);

std::vector<LogEntry> select(const SandboxLog& log, const LogQuery& query);

}  // namespace cloche::dialect::e2b
