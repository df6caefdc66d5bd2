#include "dialect/e2b/data/port_proxy.hpp"

#include <algorithm>

#include "api/proxy/forward.hpp"
#include "core/async/event.hpp"
#include "dialect/e2b/data/credentials.hpp"
#include "dialect/e2b/errors.hpp"

namespace cloche::dialect::e2b {

namespace {

// The data plane itself ends a call that is no longer authorized.
Task<api::Revoked> never_over() {
  Event never(co_await asio::this_coro::executor);
  for (;;) co_await never.wait();
}

Task<Status> forward(DataCall& call, const Attributes& attributes, const Routed& routed) {
  const std::string_view path = call.exchange.target().path;
  if (!path.starts_with('/')) co_return fail(ErrorCode::invalid_argument, "the target must be a path");
  CLOCHE_CO_TRY(const session::Admission admission, call.use->admit_connection());
  api::ProxyHead head = api::proxy_head_of(call.exchange, routed.port, path.substr(1));
  head.fields = without_our_tokens(call.exchange.fields());
  head.served_as = routed.by == NamedBy::host ? api::ServedAs::host : api::ServedAs::path;
  head.host = masked_host(attributes.mask_host, routed.port);
  head.is_tls = std::ranges::find(attributes.https_ports, routed.port) != attributes.https_ports.end();
  co_return co_await api::forward_to_port(call.exchange, *call.use, std::move(head), http::ForwardRules(),
                                          never_over());
}

}  // namespace

Task<> serve_port(DataCall& call, const Sandbox& sandbox, Routed routed) {
  auto served = co_await forward(call, sandbox.attributes, routed);
  if (served) co_return;
  Error error = std::move(served).error();
  const bool can_answer = !call.exchange.is_answered() && !call.exchange.body_failed();
  if (can_answer && error.code == ErrorCode::not_found) {
    co_await answer_closed_port(call.exchange, sandbox.id, routed.port);
  } else if (can_answer && error.code != ErrorCode::limit_reached && api::is_of_server(error.code)) {
    co_await answer_error(call.exchange, 502, "port " + std::to_string(routed.port) + ": " + error.message);
  } else {
    co_await answer_failure(call.exchange, std::move(error));
  }
}

}  // namespace cloche::dialect::e2b
