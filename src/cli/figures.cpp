#include "cli/figures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text/units.hpp"
#include "json/lenient_json.hpp"

namespace cloche::cli {

std::vector<PoolFigures> read_pools(const json::value& stats) {
  std::vector<PoolFigures> pools;
  if (!stats.is_object()) return pools;
  for (const auto& [name, value] : stats.get_object()) {
    if (!value.is_object()) continue;
    const json::object& told = value.get_object();
    PoolFigures pool;
    pool.name = std::string(name);
    pool.idle = json::number(told, "idle");
    pool.active = json::number(told, "active");
    pool.total = json::number(told, "total");
    pool.pool_size = json::number(told, "pool_size");
    pool.scale_limit = json::number(told, "scale_limit");
    pool.utilization = json::real(told, "utilization");
    pools.push_back(std::move(pool));
  }
  std::ranges::sort(pools, {}, &PoolFigures::name);
  return pools;
}

std::vector<SessionFigures> read_sessions(const json::value& answer) {
  std::vector<SessionFigures> sessions;
  for (const json::object& told : json::objects(json::find(answer, "sessions"))) {
    SessionFigures session;
    session.tenant = json::text(told, "tenant_id");
    session.session = json::text(told, "session_id");
    session.profile = json::text(told, "profile");
    session.state = json::text(told, "state");
    session.lost_because = json::text(told, "lost_because");
    session.created = json::text(told, "created");
    session.last_used = json::text(told, "last_used");
    session.expires = json::text(told, "expires");
    session.calls = json::number(told, "calls");
    session.sandbox = json::text(told, "sandbox");
    sessions.push_back(std::move(session));
  }
  return sessions;
}

Table pool_table(const std::vector<PoolFigures>& pools) {
  using Align = Table::Align;
  Table table({{"POOL"},
               {"IDLE", Align::right},
               {"ACTIVE", Align::right},
               {"TOTAL", Align::right},
               {"SIZE", Align::right},
               {"LIMIT", Align::right},
               {"USED", Align::right}});
  for (const PoolFigures& pool : pools) {
    // A pool that has nothing, though it should, cannot serve; one at its limit makes others wait.
    const bool is_empty = pool.pool_size > 0 && pool.total == 0;
    const bool is_full = pool.scale_limit > 0 && pool.active >= pool.scale_limit;
    const Colour colour = is_empty ? Colour::bad : is_full ? Colour::warning : Colour::plain;
    table.add({{pool.name, colour},
               std::to_string(pool.idle),
               std::to_string(pool.active),
               {std::to_string(pool.total), is_empty ? Colour::bad : Colour::plain},
               std::to_string(pool.pool_size),
               std::to_string(pool.scale_limit),
               {fmt::format("{:.1f} %", pool.utilization), is_full ? Colour::warning : Colour::plain}});
  }
  return table;
}

Table session_table(const std::vector<SessionFigures>& sessions, std::chrono::sys_seconds now) {
  using Align = Table::Align;
  Table table({{"TENANT"},
               {"SESSION"},
               {"PROFILE"},
               {"STATE"},
               {"AGE", Align::right},
               {"IDLE", Align::right},
               {"EXPIRES", Align::right},
               {"CALLS", Align::right},
               {"SANDBOX"}});
  for (const SessionFigures& session : sessions) {
    const Colour colour = session.state == "live"   ? Colour::good
                          : session.state == "lost" ? Colour::bad
                                                    : Colour::warning;
    table.add({session.tenant,
               session.session,
               session.profile,
               {session.state, colour},
               age_text(session.created, now),
               session.calls > 0 ? std::string("-") : age_text(session.last_used, now),
               time_left_text(session.expires, now),
               std::to_string(session.calls),
               {session.lost_because.empty() ? session.sandbox : session.lost_because, Colour::dim}});
  }
  return table;
}

std::chrono::sys_seconds wall_clock() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace cloche::cli
