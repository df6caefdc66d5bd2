#include "dialect/e2b/control/plane.hpp"

#include "auth/tokens/token.hpp"
#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "dialect/e2b/errors.hpp"
#include "dialect/e2b/routing.hpp"

namespace cloche::dialect::e2b {

namespace {

// The id of the key if the server can say later whether it is still valid. A JWT cannot be revoked.
std::string revocable_key(const http::Exchange& exchange, const auth::Principal& principal) {
  return auth::parse_token(exchange.field("X-API-Key")) ? principal.token_id : std::string();
}

Task<> answer_health(http::Exchange& exchange) {
  exchange.label("route", "/health");
  http::Fields fields;
  fields.emplace_back("Content-Type", "text/plain; charset=utf-8");
  [[maybe_unused]] auto sent = co_await exchange.respond(200, std::move(fields), "Health check successful");
}

}  // namespace

std::string instead_of(const http::Target& target) {
  auto segment = target.segments.begin();
  const auto end = target.segments.end();
  if (segment != end && (*segment == "v2" || *segment == "v3")) ++segment;
  if (segment == end) return {};
  if (*segment == "templates") {
    return "templates are not built by this service: an operator builds an image (cloche image) and names it in a "
           "profile of cloche.yml; snapshots of sandboxes can be used as templates";
  }
  if (*segment == "volumes") return "E2B's volumes are not supported; use POST /volumes and POST /sessions of Cloche";
  if (*segment == "secrets") {
    return "E2B's secrets are not supported; an operator configures secrets in `secrets:` and `egress:` of cloche.yml";
  }
  return {};
}

ControlPlane::ControlPlane(Parts& parts) : parts_(parts) {
  add_sandbox_routes(router_);
  add_change_routes(router_);
  add_report_routes(router_);
  add_snapshot_routes(router_);
}

std::vector<std::string> ControlPlane::route_names() const {
  std::vector<std::string> names{"GET /health"};
  router_.for_each([&](const std::string& method, const std::string& pattern, const ControlHandler&) {
    names.push_back(method + " " + pattern);
  });
  return names;
}

Task<> ControlPlane::serve(http::Exchange& exchange) {
  const bool reads = exchange.method() == "GET" || exchange.method() == "HEAD";
  if (reads && exchange.target().path == "/health") {
    co_await answer_health(exchange);
    co_return;
  }
  api::HostTest is_ours = [this](std::string_view host) {
    return api::names_this_machine(host) || is_host_of(host, parts_.settings.domain);
  };
  auto caller =
      api::let_in(parts_.around.authenticator, parts_.around.quotas, exchange, api::Credential::api_key, is_ours);
  if (!caller) {
    api::Denial denial = std::move(caller).error();
    co_await answer_denial(exchange, std::move(denial));
    co_return;
  }
  exchange.label("tenant", caller->principal.tenant);
  if (!caller->principal.token_id.empty()) exchange.label("token", caller->principal.token_id);
  exchange.charge_to(caller->principal.tenant);
  co_await serve_route(exchange, std::move(caller->principal));
}

Task<> ControlPlane::serve_route(http::Exchange& exchange, auth::Principal principal) {
  const auto match = router_.match(exchange.method(), exchange.target());
  if (!match.found) {
    std::string instead = instead_of(exchange.target());
    http::Fields fields;
    if (!match.allowed.empty()) fields.emplace_back("Allow", match.allowed);
    const unsigned status = !instead.empty() ? 501 : match.allowed.empty() ? 404 : 405;
    if (instead.empty()) instead = match.allowed.empty() ? "no such route" : "method not allowed for this route";
    co_await answer_error(exchange, status, std::move(instead), std::move(fields));
    co_return;
  }
  exchange.label("route", *match.pattern);
  auto work = [&]() -> Task<Status> {
    CLOCHE_CO_CHECK(fallible_point<"service.request">());
    CLOCHE_CO_TRY(auth::AuthorizedTenant tenant, auth::authorize_tenant(principal, std::nullopt));
    ControlCall call{exchange, match.parameters, parts_, std::move(tenant), revocable_key(exchange, principal)};
    co_return co_await (*match.found)(call);
  };
  auto served = co_await guarded("request " + std::string(exchange.request_id()), std::move(work));
  if (served) co_return;
  Error error = std::move(served).error();
  co_await answer_failure(exchange, std::move(error));
}

}  // namespace cloche::dialect::e2b
