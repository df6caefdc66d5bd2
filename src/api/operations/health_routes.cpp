#include "api/operations/health_routes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "core/log.hpp"
#include "http/server/request/json_body.hpp"

namespace cloche::api {

namespace {

namespace json = boost::json;

// How long an engine may take to say that it is there.
constexpr std::chrono::seconds engine_timeout{2};

// Ready means that every pool with warm sandboxes has at least one.
json::array lacks_of(const pool::Manager& pools) {
  json::array lacks;
  for (const auto& [name, stats] : pools.stats()) {
    if (stats.pool_size == 0 || stats.idle + stats.active > 0) continue;
    json::object lack;
    // The response is public, so the names of restricted profiles are left out.
    if (pools.access().is_open(auth::Resource::profile, name)) lack["pool"] = name;
    lack["why"] =
        stats.create_failures > 0 ? "creating its sandboxes fails; see the server log" : "it is still filling";
    lacks.push_back(std::move(lack));
  }
  return lacks;
}

// Sandboxes that cannot be removed. The service works without their removal, so it is ready. Which they are is in the
// log: this response is public.
json::object unremoved_json(const std::vector<Unremoved>& unremoved) {
  const auto now = Deadline::Clock::now();
  std::chrono::seconds oldest{0};
  for (const Unremoved& each : unremoved) {
    oldest = std::max(oldest, std::chrono::duration_cast<std::chrono::seconds>(now - each.since));
  }
  json::object told;
  told["sandboxes"] = unremoved.size();
  told["oldest_seconds"] = oldest.count();
  return told;
}

Task<> health(http::Exchange& exchange) {
  json::object body;
  body["status"] = "ok";
  [[maybe_unused]] auto sent = co_await http::respond_json(exchange, 200, body);
}

Task<> readiness(const pool::Manager& pools, Backend& backend, http::Exchange& exchange) {
  json::array lacks = lacks_of(pools);
  auto reached = co_await backend.reach(Deadline::after(engine_timeout));
  if (!reached) {
    json::object lack;
    lack["backend"] = backend.name();
    lack["why"] = "it does not respond; see the server log";
    log::info("not ready: {}", reached.error().message);
    lacks.push_back(std::move(lack));
  }
  const bool ready = lacks.empty();
  json::object body;
  body["status"] = ready ? "ready" : "not ready";
  if (!ready) body["lacks"] = std::move(lacks);
  const auto unremoved = pools.unremoved();
  if (!unremoved.empty()) body["unremoved"] = unremoved_json(unremoved);
  [[maybe_unused]] auto sent = co_await http::respond_json(exchange, ready ? 200 : 503, body);
}

}  // namespace

void add_health_routes(http::Router<http::RouteHandler>& router, pool::Manager& pools, Backend& backend) {
  router.add("GET", "/healthz", [](http::Exchange& exchange, const http::PathParameters&) { return health(exchange); });
  router.add("GET", "/readyz", [&pools, &backend](http::Exchange& exchange, const http::PathParameters&) {
    return readiness(pools, backend, exchange);
  });
}

}  // namespace cloche::api
