// Expiries: when the time of each session is over, with one timer for the nearest.
#pragma once

#include <boost/asio/system_timer.hpp>
#include <map>
#include <optional>
#include <set>

#include "session/session.hpp"

namespace cloche::session {

class Expiries {
 public:
  explicit Expiries(const Executor& executor) : timer_(executor) {}

  // In place of what was set before; none: it does not expire.
  void set(const SessionKey& key, std::optional<WallTime> when);
  // Suspends until the time of one is over, and removes it. For one caller.
  Task<SessionKey> next();

 private:
  std::map<SessionKey, WallTime> times_;
  std::set<std::pair<WallTime, SessionKey>> order_;
  asio::system_timer timer_;  // by the wall clock, which may be set
};

}  // namespace cloche::session
