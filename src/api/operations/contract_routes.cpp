#include "api/operations/contract_routes.hpp"

#include "core/embedded_file.hpp"

CLOCHE_EMBED_FILE(contract, CLOCHE_CONTRACT);

namespace cloche::api {

namespace {

Task<> show(http::Exchange& exchange) {
  http::Fields fields;
  fields.emplace_back("Content-Type", "application/yaml");
  fields.emplace_back("Cache-Control", "no-cache");
  std::string text(contract_text());
  [[maybe_unused]] auto sent = co_await exchange.respond(200, std::move(fields), std::move(text));
}

}  // namespace

std::string_view contract_text() { return CLOCHE_EMBEDDED(contract); }

void add_contract_routes(http::Router<http::RouteHandler>& router) {
  router.add("GET", "/openapi.yaml",
             [](http::Exchange& exchange, const http::PathParameters&) { return show(exchange); });
}

}  // namespace cloche::api
