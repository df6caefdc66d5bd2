#include "api/errors.hpp"

#include <boost/json/object.hpp>

#include "core/log.hpp"
#include "json/write_json.hpp"

namespace cloche::api {

namespace {

// Errors of the server itself, before any route is called.
std::string_view code_of_status(unsigned status) {
  switch (status) {
    case 401: return "unauthenticated";
    case 403: return "permission_denied";
    case 404: return "not_found";
    case 405: return "method_not_allowed";
    case 408: return "timeout";
    case 413: return "too_large";
    case 415: return "unsupported_media_type";
    case 429: return "limit_reached";
    case 503: return "unavailable";
    default: return status >= 500 ? "internal" : "bad_request";
  }
}

}  // namespace

ErrorAnswer answer_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return {400, "invalid_argument"};
    case ErrorCode::not_found: return {404, "not_found"};
    case ErrorCode::already_exists: return {409, "already_exists"};
    case ErrorCode::permission_denied: return {403, "permission_denied"};
    case ErrorCode::limit_reached: return {429, "limit_reached"};
    case ErrorCode::unsupported: return {501, "unsupported"};
    case ErrorCode::unavailable: return {503, "unavailable"};
    case ErrorCode::timeout: return {504, "timeout"};
    case ErrorCode::cancelled: return {499, "cancelled"};
    case ErrorCode::sandbox_lost: return {410, "sandbox_lost"};
    case ErrorCode::ending: return {409, "session_ending"};
    case ErrorCode::paused: return {409, "session_paused"};
    case ErrorCode::protocol: return {502, "protocol"};
    case ErrorCode::internal: break;
  }
  return {500, "internal"};
}

bool is_worth_another_try(ErrorCode code) {
  return code == ErrorCode::limit_reached || code == ErrorCode::unavailable || code == ErrorCode::ending;
}

http::ErrorBody error_body(unsigned status, std::string_view code, std::string_view message,
                           std::string_view request_id) {
  boost::json::object error;
  error["code"] = code;
  error["message"] = status == 500 ? internal_error_message : message;
  error["request_id"] = request_id;
  boost::json::object body;
  body["error"] = std::move(error);
  return {"application/json", write_json(body)};
}

http::ErrorBody error_body_of_server(unsigned status, std::string_view why, std::string_view request_id) {
  return error_body(status, code_of_status(status), why, request_id);
}

void log_failure(const http::Exchange& exchange, const Error& error) {
  // Errors that a caller or a sandbox can cause at will are not worth the operator's attention.
  if (error.code == ErrorCode::internal) {
    log::error("request {}: {}", exchange.request_id(), error.message);
  } else if (answer_for(error.code).status >= 500) {
    log::info("request {}: {}", exchange.request_id(), error.message);
  }
}

Task<> answer_error(http::Exchange& exchange, const Error& error) {
  const ErrorAnswer answer = answer_for(error.code);
  log_failure(exchange, error);
  http::ErrorBody body = error_body(answer.status, answer.code, error.message, exchange.request_id());
  http::Fields fields;
  fields.emplace_back("Content-Type", body.content_type);
  if (is_worth_another_try(error.code)) fields.emplace_back("Retry-After", "1");
  [[maybe_unused]] auto sent = co_await exchange.respond(answer.status, std::move(fields), std::move(body.text));
}

Task<Status> answer_refusal(http::Exchange& exchange, unsigned status, std::string code, std::string message) {
  http::ErrorBody body = error_body(status, code, message, exchange.request_id());
  http::Fields fields;
  fields.emplace_back("Content-Type", body.content_type);
  co_return co_await exchange.respond(status, std::move(fields), std::move(body.text));
}

}  // namespace cloche::api
