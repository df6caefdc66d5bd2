#include "dialect/e2b/envd/service.hpp"

#include "core/async/first_of.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr std::string_view no_token =
    "unauthorized access, please provide a valid access token or method signing if supported";

}  // namespace

EnvdService::EnvdService() {
  add_process_routes(router_);
  add_filesystem_routes(router_);
  add_watch_routes(router_);
  add_content_routes(router_);
  add_status_routes(router_);
}

Task<> EnvdService::serve(DataCall& call) {
  const auto match = router_.match(call.exchange.method(), call.exchange.target());
  if (match.found == nullptr) {
    if (match.allowed.empty()) {
      co_await answer_rest_error(call.exchange, 404, "404 page not found");
      co_return;
    }
    http::Fields fields;
    fields.emplace_back("Allow", match.allowed);
    [[maybe_unused]] auto sent = co_await call.exchange.respond(405, std::move(fields), std::string());
    co_return;
  }
  if (match.found->access == EnvdRoute::Access::token && !call.authorized) {
    co_await answer_rest_error(call.exchange, 401, std::string(no_token));
    co_return;
  }
  const auto ended = co_await first_of(match.found->serve(call), call.use->wait_until_paused());
  if (ended.index() != 0) call.exchange.break_off();
}

}  // namespace cloche::dialect::e2b
