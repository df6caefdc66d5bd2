// GET /health, /envs and /metrics: the state of a sandbox.
#include <cmath>

#include "dialect/e2b/envd/routes.hpp"
#include "dialect/e2b/sandbox_environment.hpp"
#include "http/server/request/json_body.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr std::chrono::seconds measuring_timeout{10};
constexpr std::uint64_t bytes_per_mib = 1024 * 1024;

Task<> show_health(DataCall& call) {
  http::Fields fields;
  fields.emplace_back("Cache-Control", "no-store");
  [[maybe_unused]] auto sent = co_await call.exchange.respond(204, std::move(fields), std::string());
}

Task<> show_environment(DataCall& call) {
  json::object all;
  for (const auto& [name, value] : sandbox_environment(*call.use)) all[name] = value;
  for (const auto& [name, value] : call.use->options().env) all[name] = value;
  const json::value body = std::move(all);
  [[maybe_unused]] auto sent = co_await http::respond_json(call.exchange, 200, body);
}

// The cpu time of a sandbox when it was looked at last.
class CpuMeter final : public session::SessionPart {
 public:
  explicit CpuMeter(session::Session&) {}

  // Percent of one cpu since the last call; since its start in the first one.
  double used(std::chrono::microseconds total, std::chrono::microseconds age) {
    const auto now = Deadline::Clock::now();
    const auto span = last_ ? std::chrono::duration_cast<std::chrono::microseconds>(now - last_->when) : age;
    const auto spent = last_ ? total - last_->total : total;
    last_ = Sample{now, total};
    if (span.count() <= 0) return 0;
    return std::round(10'000.0 * static_cast<double>(spent.count()) / static_cast<double>(span.count())) / 100.0;
  }

  Task<> close() override { co_return; }
  bool busy() const override { return false; }

 private:
  struct Sample {
    Deadline::Clock::time_point when;
    std::chrono::microseconds total;
  };
  std::optional<Sample> last_;
};

Task<> show_metrics(DataCall& call) {
  const auto sandbox = call.use->lease().shared();
  auto use = co_await sandbox->resource_and_disk_use(Deadline::after(measuring_timeout));
  if (!use) {
    co_await answer_rest_error(call.exchange, 500, "the use of resources could not be measured");
    co_return;
  }
  const auto now = std::chrono::system_clock::now();
  const auto age = std::chrono::duration_cast<std::chrono::microseconds>(now - call.use->info().created);
  const Limits& limits = sandbox->limits();
  json::object body;
  body["ts"] = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  body["cpu_count"] = static_cast<std::int64_t>(std::ceil(limits.cpus));
  body["cpu_used_pct"] = call.use->part<CpuMeter>().used(use->cpu_time, age);
  body["mem_total"] = limits.memory.count;
  body["mem_used"] = use->memory.count;
  body["mem_cache"] = use->cache.count;
  body["mem_total_mib"] = limits.memory.count / bytes_per_mib;
  body["mem_used_mib"] = use->memory.count / bytes_per_mib;
  body["disk_used"] = use->disk.value_or(Bytes{0}).count;
  const SandboxSpec& spec = sandbox->spec();
  body["disk_total"] = spec.workspace == WorkspaceKind::disk ? spec.disk_size.count : limits.work_dir.count;
  const json::value reply = std::move(body);
  [[maybe_unused]] auto sent = co_await http::respond_json(call.exchange, 200, reply);
}

}  // namespace

void add_status_routes(EnvdRouter& router) {
  EnvdRoute health;
  health.serve = show_health;
  health.access = EnvdRoute::Access::open;
  router.add("GET", "/health", std::move(health));
  EnvdRoute environment;
  environment.serve = show_environment;
  router.add("GET", "/envs", std::move(environment));
  EnvdRoute metrics;
  metrics.serve = show_metrics;
  router.add("GET", "/metrics", std::move(metrics));
}

}  // namespace cloche::dialect::e2b
