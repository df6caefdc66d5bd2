#include "dialect/e2b/connect/unary_call.hpp"

#include "core/log.hpp"
#include "dialect/e2b/connect/request_fields.hpp"
#include "http/server/request/json_body.hpp"

namespace cloche::dialect::e2b::connect {

namespace {

http::Fields json_fields() {
  http::Fields fields;
  fields.emplace_back("Content-Type", unary_type);
  return fields;
}

Task<Reply<json::value>> handle(http::Exchange& exchange, UnaryHandler handler) {
  CLOCHE_CO_CHECK(check_protocol(exchange.fields()));
  CLOCHE_CO_TRY(const auto timeout, timeout_of(exchange.fields()));
  const Deadline deadline = timeout ? Deadline::after(*timeout) : Deadline::never();
  http::JsonLimits limits;
  limits.size = longest_message;
  auto body = co_await http::read_json(exchange, limits);
  if (!body) co_return std::unexpected(failure_of_body(exchange, std::move(body).error()));
  CLOCHE_CO_TRY(const ProtoObject message, ProtoObject::of(*body));
  auto reply = co_await handler(message, deadline);
  co_return reply;
}

}  // namespace

Failure failure_of_body(const http::Exchange& exchange, Error error) {
  const auto& refusal = exchange.body_refusal();
  if (!refusal) return {std::move(error)};
  return {code_of_status(refusal->status), refusal->why};
}

void log_failure(const http::Exchange& exchange, const Failure& failure) {
  if (!failure.detail.empty()) log::error("request {}: {}", exchange.request_id(), failure.detail);
}

Task<> answer_failure(http::Exchange& exchange, Failure failure) {
  log_failure(exchange, failure);
  if (exchange.is_answered()) co_return;
  http::Fields fields = json_fields();
  std::string body = to_json(failure);
  [[maybe_unused]] auto sent = co_await exchange.respond(status_of(failure.code), std::move(fields), std::move(body));
}

Task<> answer_wrong_type(http::Exchange& exchange, std::string_view accepted) {
  http::Fields fields;
  fields.emplace_back("Accept-Post", accepted);
  [[maybe_unused]] auto sent = co_await exchange.respond(415, std::move(fields), std::string());
}

Task<> serve_unary(http::Exchange& exchange, UnaryHandler handler) {
  if (!has_type(exchange.fields(), unary_type)) {
    co_await answer_wrong_type(exchange, unary_type);
    co_return;
  }
  auto reply = co_await handle(exchange, std::move(handler));
  if (!reply) {
    Failure failure = std::move(reply).error();
    co_await answer_failure(exchange, std::move(failure));
    co_return;
  }
  [[maybe_unused]] auto sent = co_await http::respond_json(exchange, 200, *reply);
}

}  // namespace cloche::dialect::e2b::connect
