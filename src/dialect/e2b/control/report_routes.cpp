#include <boost/json/array.hpp>

#include "dialect/e2b/control/log_query.hpp"
#include "dialect/e2b/control/metric_query.hpp"
#include "dialect/e2b/control/routes.hpp"
#include "http/server/request/json_body.hpp"

namespace cloche::dialect::e2b {

namespace {

using std::chrono::system_clock;

constexpr std::size_t most_measured = 100;

Task<Result<json::object>> measure(Parts& parts, SandboxPtr sandbox) {
  CLOCHE_CO_TRY(const session::SessionInfo info, parts.sandboxes.info(*sandbox));
  CLOCHE_CO_TRY(const auto profile, profile_of(parts, info));
  auto use =
      co_await parts.around.sessions.resource_use(sandbox->tenant, sandbox->id, Deadline::after(changing_timeout));
  if (!use) co_return fail(std::move(use).error());
  const auto now = system_clock::now();
  const CpuSample sample{Deadline::Clock::now(), use->cpu_time};
  const auto age = std::chrono::duration_cast<std::chrono::microseconds>(now - info.created);
  const double share = cpu_share(sandbox->cpu, sample, age);
  sandbox->cpu = sample;
  co_return to_metric_json(profile->sandbox, *use, share, now);
}

// One sample: that of now. A paused sandbox has none.
Task<Status> show_metrics(ControlCall& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  CLOCHE_CO_TRY(const MetricQuery wanted, read_metric_query(query));
  CLOCHE_CO_TRY(const SandboxPtr sandbox, find_sandbox(call));
  CLOCHE_CO_TRY(const session::SessionInfo info, call.parts.sandboxes.info(*sandbox));
  json::array samples;
  if (info.state == session::SessionState::live && wanted.has(system_clock::now())) {
    CLOCHE_CO_TRY(json::object sample, co_await measure(call.parts, sandbox));
    samples.push_back(std::move(sample));
  }
  co_return co_await http::respond_json(call.exchange, 200, samples);
}

Task<Status> show_metrics_of_many(ControlCall& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  std::string_view ids = query.find("sandbox_ids").value_or("");
  json::object all;
  for (std::size_t count = 0; !ids.empty(); ++count) {
    if (count == most_measured) co_return fail(ErrorCode::invalid_argument, "sandbox_ids must not be more than 100");
    const auto end = std::min(ids.find(','), ids.size());
    const std::string id(ids.substr(0, end));
    ids.remove_prefix(std::min(end + 1, ids.size()));
    const SandboxPtr sandbox = call.parts.sandboxes.find(call.tenant.name(), id);
    if (!sandbox) continue;
    auto sample = co_await measure(call.parts, sandbox);
    if (sample) all[id] = *std::move(sample);
  }
  json::object answer;
  answer["sandboxes"] = std::move(all);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

json::array to_entries(const std::vector<LogEntry>& entries) {
  json::array all;
  for (const LogEntry& entry : entries) all.push_back(to_log_json(entry));
  return all;
}

Task<Status> show_log(ControlCall& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  CLOCHE_CO_TRY(const LogQuery wanted, read_log_query(query));
  CLOCHE_CO_TRY(const SandboxPtr sandbox, find_sandbox(call));
  json::object answer;
  answer["logs"] = to_entries(select(sandbox->log, wanted));
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> show_old_log(ControlCall& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  CLOCHE_CO_TRY(const LogQuery wanted, read_old_log_query(query));
  CLOCHE_CO_TRY(const SandboxPtr sandbox, find_sandbox(call));
  const std::vector<LogEntry> entries = select(sandbox->log, wanted);
  json::array lines;
  for (const LogEntry& entry : entries) {
    json::object line;
    line["timestamp"] = to_time_text(entry.time);
    line["line"] = entry.message;
    lines.push_back(std::move(line));
  }
  json::object answer;
  answer["logs"] = std::move(lines);
  answer["logEntries"] = to_entries(entries);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

}  // namespace

void add_report_routes(ControlRouter& router) {
  router.add("GET", "/sandboxes/{id}/metrics", [](ControlCall& call) { return show_metrics(call); });
  router.add("GET", "/sandboxes/metrics", [](ControlCall& call) { return show_metrics_of_many(call); });
  router.add("GET", "/sandboxes/{id}/logs", [](ControlCall& call) { return show_old_log(call); });
  router.add("GET", "/v2/sandboxes/{id}/logs", [](ControlCall& call) { return show_log(call); });
}

}  // namespace cloche::dialect::e2b
