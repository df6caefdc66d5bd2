#include "api/operations/contract_routes.hpp"

// Longer than a string literal may portably be.
asm(".section .rodata\n"
    ".global cloche_contract_start\n"
    ".hidden cloche_contract_start\n"
    "cloche_contract_start:\n"
    ".incbin \"" CLOCHE_CONTRACT
    "\"\n"
    ".global cloche_contract_end\n"
    ".hidden cloche_contract_end\n"
    "cloche_contract_end:\n"
    ".byte 0\n"
    ".text\n");

extern "C" const char cloche_contract_start[];
extern "C" const char cloche_contract_end[];

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

std::string_view contract_text() {
  return {cloche_contract_start, static_cast<std::size_t>(cloche_contract_end - cloche_contract_start)};
}

void add_contract_routes(http::Router<http::RouteHandler>& router) {
  router.add("GET", "/openapi.yaml",
             [](http::Exchange& exchange, const http::PathParameters&) { return show(exchange); });
}

}  // namespace cloche::api
