#include "api/proxy/routes.hpp"

#include "api/errors.hpp"
#include "api/proxy/head.hpp"
#include "api/session_access.hpp"
#include "api/session_auth_check.hpp"
#include "core/async/first_of.hpp"
#include "core/fault_point.hpp"
#include "egress/broker/sandbox_stream.hpp"

namespace cloche::api {

namespace {

using session::SessionStore;

constexpr std::chrono::seconds connect_timeout{10};

bool asks_for_websocket(const http::Exchange& exchange) {
  return exchange.method() == "GET" && http::list_has(exchange.field("Connection"), "upgrade") &&
         http::list_has(exchange.field("Upgrade"), "websocket");
}

ProxyHead head_of(const Call& call, std::uint16_t port) {
  const http::Exchange& exchange = call.exchange;
  const std::string_view rest = call.path["rest"];
  const std::string& path = exchange.target().path;
  ProxyHead head;
  head.method = exchange.method();
  head.target = "/" + std::string(rest);
  if (!exchange.target().query.empty()) head.target += "?" + exchange.target().query;
  head.fields = exchange.fields();
  head.port = port;
  head.prefix = path.substr(0, path.size() - rest.size() - 1);
  head.has_body = exchange.has_body();
  if (const auto size = exchange.announced_size(); size && head.has_body) head.length = size->count;
  // Servers expect an explicit length of zero.
  const bool means_content = head.method == "POST" || head.method == "PUT" || head.method == "PATCH";
  if (!head.has_body && means_content) head.length = 0;
  head.upgrades = asks_for_websocket(exchange);
  head.service = names_of_service(exchange.fields(), exchange.peer());
  return head;
}

// Errors of the server in the sandbox are neither our fault nor the client's.
Task<Status> answer_for_server(http::Exchange& exchange, std::uint16_t port, Error error) {
  const bool is_servers = error.code == ErrorCode::not_found || error.code == ErrorCode::unavailable ||
                          error.code == ErrorCode::protocol || error.code == ErrorCode::limit_reached;
  error.message = "port " + std::to_string(port) + " of the sandbox: " + error.message;
  if (!is_servers || exchange.is_answered() || exchange.body_failed()) co_return fail(std::move(error));
  co_return co_await answer_refusal(exchange, 502, "bad_gateway", error.message);
}

http::ForwardedRequest request_of(const ProxyHead& head) {
  http::ForwardedRequest request;
  request.head = serialise_proxy_head(head);
  request.has_body = head.has_body;
  request.length = head.length;
  request.upgrades = head.upgrades;
  return request;
}

http::ForwardHooks hooks_of(const ProxyHead& head) {
  http::ForwardHooks hooks;
  hooks.fields = [place = head.place()](const http::Response& response) -> Result<http::Fields> {
    CLOCHE_CHECK(fallible_point<"service.proxy">());
    return proxied_answer_fields(response.fields, place);
  };
  hooks.upgrade_fields = [](const http::Response& response) -> Result<http::Fields> {
    return proxied_upgrade_fields(response.fields);
  };
  return hooks;
}

// An app may respond forever, with a stream of events or a WebSocket. The response ends when the caller is no longer
// authorized.
Task<Status> serve_while_authorized(http::Forwarding& forwarding, const http::Exchange& exchange,
                                    SessionAuthCheck& auth_check) {
  auto ended = co_await first_of(forwarding.serve(), auth_check.wait_until_over());
  if (ended.index() == 1) co_return fail(ErrorCode::permission_denied, std::get<1>(ended).message);
  // A WebSocket has ended when either side has, in whatever way.
  if (forwarding.status() == 101 && exchange.is_answered()) co_return Status{};
  co_return std::get<0>(std::move(ended));
}

Task<Status> serve_proxy(SessionStore& store, http::ForwardRules rules, Call& call) {
  CLOCHE_CO_TRY(const std::uint16_t port, read_port(call.path["port"]));
  CLOCHE_CO_TRY(const session::SessionUse use, find_session(call, store));
  CLOCHE_CO_TRY(const session::Admission admission, use->admit_connection());
  const auto sandbox = use->lease().shared();
  auto connected = co_await sandbox->connect(port, Deadline::after(connect_timeout));
  if (!connected) {
    Error error = std::move(connected).error();
    co_return co_await answer_for_server(call.exchange, port, std::move(error));
  }
  const Executor executor = co_await asio::this_coro::executor;
  egress::SandboxStream server(executor, std::move(*connected));
  const ProxyHead head = head_of(call, port);
  http::Forwarding forwarding(call.exchange, server, request_of(head), rules, hooks_of(head));
  SessionAuthCheck auth_check(call);
  auto served = co_await serve_while_authorized(forwarding, call.exchange, auth_check);
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
