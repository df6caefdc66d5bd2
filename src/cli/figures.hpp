// Pools and sessions as reported by a service, and as shown in tables.
#pragma once

#include <boost/json/value.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "cli/text/table.hpp"

namespace cloche::cli {

struct PoolFigures {
  std::string name;
  std::int64_t idle = 0;
  std::int64_t active = 0;
  std::int64_t total = 0;
  std::int64_t pool_size = 0;
  std::int64_t scale_limit = 0;
  double utilization = 0;  // per cent
};

struct SessionFigures {
  std::string tenant;
  std::string session;
  std::string profile;
  std::string state;
  std::string lost_because;
  std::string created;
  std::string last_used;
  std::string expires;  // empty: it does not
  std::int64_t calls = 0;
  std::string sandbox;
};

// From the response to GET /stats, by name.
std::vector<PoolFigures> read_pools(const boost::json::value& stats);
// From the response to GET /sessions.
std::vector<SessionFigures> read_sessions(const boost::json::value& answer);

Table pool_table(const std::vector<PoolFigures>& pools);
Table session_table(const std::vector<SessionFigures>& sessions, std::chrono::sys_seconds now);

std::chrono::sys_seconds wall_clock();

}  // namespace cloche::cli
