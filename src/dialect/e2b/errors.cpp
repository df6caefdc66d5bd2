#include "dialect/e2b/errors.hpp"

#include <boost/json/object.hpp>

#include "api/errors.hpp"
#include "core/log.hpp"
#include "json/write_json.hpp"

namespace cloche::dialect::e2b {

namespace {

Task<> answer_json(http::Exchange& exchange, unsigned status, boost::json::object body, http::Fields fields) {
  fields.emplace_back("Content-Type", "application/json");
  std::string text = write_json(body);
  [[maybe_unused]] auto sent = co_await exchange.respond(status, std::move(fields), std::move(text));
}

boost::json::object error_object(unsigned status, std::string_view message) {
  boost::json::object body;
  body["code"] = status;
  body["message"] = message;
  return body;
}

}  // namespace

unsigned status_of(ErrorCode code) {
  switch (code) {
    // The sandbox is gone, or about to be.
    case ErrorCode::sandbox_lost:
    case ErrorCode::ending: return 404;
    default: return api::answer_for(code).status;
  }
}

Task<> answer_error(http::Exchange& exchange, unsigned status, std::string message, http::Fields fields) {
  const bool is_passing = status == 429 || status == 503;
  if (is_passing && http::field_value(fields, "Retry-After").empty()) fields.emplace_back("Retry-After", "1");
  boost::json::object body = error_object(status, message);
  co_await answer_json(exchange, status, std::move(body), std::move(fields));
}

Task<> answer_failure(http::Exchange& exchange, Error error) {
  if (exchange.is_answered()) {
    log::debug("request {}: response aborted: {}", exchange.request_id(), error.message);
    exchange.break_off();
    co_return;
  }
  api::log_failure(exchange, error);
  unsigned status = status_of(error.code);
  std::string message = std::move(error.message);
  if (const auto refusal = exchange.body_refusal()) {
    status = refusal->status;
    message = refusal->why;
  }
  if (status == 500) message = api::internal_error_message;
  co_await answer_error(exchange, status, std::move(message));
}

Task<> answer_denial(http::Exchange& exchange, api::Denial denial) {
  exchange.label("refused", denial.reason);
  co_await answer_error(exchange, denial.status, std::move(denial.message), std::move(denial.fields));
}

Task<> answer_no_sandbox(http::Exchange& exchange, std::string sandbox) {
  boost::json::object body = error_object(502, "The sandbox was not found");
  body["sandboxId"] = sandbox;
  co_await answer_json(exchange, 502, std::move(body), http::Fields());
}

Task<> answer_closed_port(http::Exchange& exchange, std::string sandbox, unsigned port) {
  boost::json::object body = error_object(502, "The sandbox is running but port is not open");
  body["sandboxId"] = sandbox;
  body["port"] = port;
  co_await answer_json(exchange, 502, std::move(body), http::Fields());
}

}  // namespace cloche::dialect::e2b
