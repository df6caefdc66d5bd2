#include "api/detail.hpp"

#include <boost/json/object.hpp>

#include "api/errors.hpp"
#include "core/log.hpp"
#include "json/write_json.hpp"

namespace cloche::api {

DetailError::DetailError(Error what) : status(answer_for(what.code).status), error(std::move(what)) {}

std::unexpected<DetailError> unprocessable(Error error) { return std::unexpected(DetailError(422, std::move(error))); }

Task<> answer_detail(http::Exchange& exchange, unsigned status, std::string message, http::Fields fields) {
  boost::json::object body;
  body["detail"] = status == 500 ? internal_error_message : std::string_view(message);
  fields.emplace_back("Content-Type", "application/json");
  std::string text = write_json(body);
  [[maybe_unused]] auto sent = co_await exchange.respond(status, std::move(fields), std::move(text));
}

Task<> answer_detail_error(http::Exchange& exchange, DetailError error) {
  if (exchange.is_answered()) {
    log::debug("request {}: response aborted: {}", exchange.request_id(), error.error.message);
    exchange.break_off();
    co_return;
  }
  if (const auto refusal = exchange.body_refusal())
    error = DetailError(refusal->status, {error.error.code, refusal->why});
  log_failure(exchange, error.error);
  http::Fields fields;
  const bool is_by_table = error.status == answer_for(error.error.code).status;
  const bool is_passing = error.status == 503 || (is_by_table && is_worth_another_try(error.error.code));
  if (is_passing) fields.emplace_back("Retry-After", "1");
  co_await answer_detail(exchange, error.status, std::move(error.error.message), std::move(fields));
}

}  // namespace cloche::api
