#include "http/server/routed.hpp"

namespace cloche::http {

namespace {

Task<> serve(std::shared_ptr<const Router<RouteHandler>> router, Exchange& exchange) {
  const auto match = router->match(exchange.method(), exchange.target());
  if (match.found) {
    exchange.label("route", *match.pattern);
    co_await (*match.found)(exchange, match.parameters);
    co_return;
  }
  Fields fields;
  if (!match.allowed.empty()) fields.emplace_back("Allow", match.allowed);
  const unsigned status = match.allowed.empty() ? 404 : 405;
  std::string why = match.allowed.empty() ? "no such route" : "method not allowed for this route";
  co_await exchange.refuse(status, std::move(why), std::move(fields));
}

}  // namespace

Handler serve_routes(Router<RouteHandler> router) {
  auto shared = std::make_shared<const Router<RouteHandler>>(std::move(router));
  return [shared = std::move(shared)](Exchange& exchange) { return serve(shared, exchange); };
}

}  // namespace cloche::http
