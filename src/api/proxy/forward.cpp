#include "api/proxy/forward.hpp"

#include "core/async/first_of.hpp"
#include "core/fault_point.hpp"
#include "egress/broker/sandbox_stream.hpp"
#include "egress/tls/tls_stream.hpp"
#include "egress/tls/trust.hpp"

namespace cloche::api {

namespace {

constexpr std::chrono::seconds connect_timeout{10};

bool asks_for_websocket(const http::Exchange& exchange) {
  return exchange.method() == "GET" && http::list_has(exchange.field("Connection"), "upgrade") &&
         http::list_has(exchange.field("Upgrade"), "websocket");
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
  hooks.fields = [place = head.place(), as = head.served_as](const http::Response& response) -> Result<http::Fields> {
    CLOCHE_CHECK(fallible_point<"service.proxy">());
    return proxied_answer_fields(response.fields, place, as);
  };
  hooks.upgrade_fields = [](const http::Response& response) -> Result<http::Fields> {
    return proxied_upgrade_fields(response.fields);
  };
  return hooks;
}

// The connection leads to this sandbox and nowhere else: whatever certificate its server made for itself is good.
Task<Result<std::unique_ptr<http::Stream>>> secure(std::unique_ptr<http::Stream> below) {
  static const auto context = egress::make_unverifying_context();
  if (!context) co_return fail(context.error());
  egress::SslContext shared = *context;
  auto secured = co_await egress::TlsStream::connect_unverified(std::move(below), std::move(shared),
                                                                Deadline::after(connect_timeout));
  if (!secured) co_return fail(std::move(secured).error());
  co_return std::move(*secured);
}

}  // namespace

ProxyHead proxy_head_of(const http::Exchange& exchange, std::uint16_t port, std::string_view rest) {
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

Task<Status> forward_to_port(http::Exchange& exchange, session::Session& session, ProxyHead head,
                             http::ForwardRules rules, Task<Revoked> over) {
  const auto sandbox = session.lease().shared();
  auto connected = co_await sandbox->connect(head.port, Deadline::after(connect_timeout));
  if (!connected) co_return fail(std::move(connected).error());
  std::unique_ptr<http::Stream> server = std::make_unique<egress::SandboxStream>(std::move(*connected));
  if (head.is_tls) {
    auto secured = co_await secure(std::move(server));
    if (!secured) co_return fail(std::move(secured).error());
    server = std::move(*secured);
  }
  http::Forwarding forwarding(exchange, *server, request_of(head), rules, hooks_of(head));
  auto ended = co_await first_of(forwarding.serve(), std::move(over));
  if (ended.index() == 1) co_return fail(ErrorCode::permission_denied, std::get<1>(ended).message);
  // A WebSocket has ended when either side has, in whatever way.
  if (forwarding.status() == 101 && exchange.is_answered()) co_return Status{};
  co_return std::get<0>(std::move(ended));
}

bool is_of_server(ErrorCode code) {
  return code == ErrorCode::not_found || code == ErrorCode::unavailable || code == ErrorCode::protocol ||
         code == ErrorCode::limit_reached;
}

}  // namespace cloche::api
