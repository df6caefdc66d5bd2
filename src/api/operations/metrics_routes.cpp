#include "api/operations/metrics_routes.hpp"

namespace cloche::api {

namespace {

Task<Status> show(const metrics::Metrics& metrics, Call& call) {
  CLOCHE_CO_CHECK(auth::require_admin(call.principal));
  http::Fields fields;
  fields.emplace_back("Content-Type", std::string(metrics::Metrics::content_type));
  std::string text = metrics.text();
  co_return co_await call.exchange.respond(200, std::move(fields), std::move(text));
}

}  // namespace

void add_metrics_routes(CallRouter& router, const metrics::Metrics& metrics) {
  router.add("GET", "/metrics", [&metrics](Call& call) { return show(metrics, call); });
}

}  // namespace cloche::api
