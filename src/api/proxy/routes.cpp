#include "api/proxy/routes.hpp"

#include "api/errors.hpp"
#include "api/proxy/forward.hpp"
#include "api/session_access.hpp"
#include "session/unless_paused.hpp"

namespace cloche::api {

namespace {

using session::SessionStore;

// Errors of the server in the sandbox are neither our fault nor the client's.
Task<Status> answer_for_server(http::Exchange& exchange, std::uint16_t port, Error error) {
  const bool is_servers = is_of_server(error.code);
  error.message = "port " + std::to_string(port) + " of the sandbox: " + error.message;
  if (!is_servers || exchange.is_answered() || exchange.body_failed()) co_return fail(std::move(error));
  co_return co_await answer_refusal(exchange, 502, "bad_gateway", error.message);
}

Task<Status> serve_proxy(SessionStore& store, http::ForwardRules rules, Call& call) {
  CLOCHE_CO_TRY(const std::uint16_t port, read_port(call.path["port"]));
  CLOCHE_CO_TRY(const session::SessionUse use, find_session(call, store));
  CLOCHE_CO_TRY(const session::Admission admission, use->admit_connection());
  ProxyHead head = proxy_head_of(call.exchange, port, call.path["rest"]);
  SessionAuthCheck auth_check(call);
  auto forwarding = forward_to_port(call.exchange, *use, std::move(head), rules, auth_check.wait_until_over());
  auto served = co_await session::unless_paused(*use, std::move(forwarding));
  if (served) co_return served;
  Error error = std::move(served).error();
  co_return co_await answer_for_server(call.exchange, port, std::move(error));
}

// Links of the pages are relative to a directory.
Task<Status> add_slash(Call& call) {
  CLOCHE_CO_CHECK(read_port(call.path["port"]));
  std::string location = std::string(call.path["port"]) + "/";
  if (!call.exchange.target().query.empty()) location += "?" + call.exchange.target().query;
  http::Fields fields;
  fields.emplace_back("Location", std::move(location));
  co_return co_await call.exchange.respond(308, std::move(fields), std::string());
}

}  // namespace

void add_proxy_routes(CallRouter& router, SessionStore& store, http::ForwardRules rules) {
  for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    router.add(method, "/sessions/{tenant}/{session}/proxy/{port}", [](Call& call) { return add_slash(call); });
    router.add(method, "/sessions/{tenant}/{session}/proxy/{port}/{rest...}",
               [&store, rules](Call& call) { return serve_proxy(store, rules, call); });
  }
}

}  // namespace cloche::api
