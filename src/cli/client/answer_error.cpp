#include "cli/client/answer_error.hpp"
#include "json/lenient_json.hpp"

namespace cloche::cli {

namespace {

ErrorCode code_of(unsigned status) {
  switch (status) {
    case 400:
    case 405:
    case 415:
    case 422: return ErrorCode::invalid_argument;
    case 401:
    case 403: return ErrorCode::permission_denied;
    case 404: return ErrorCode::not_found;
    case 409: return ErrorCode::already_exists;
    case 410: return ErrorCode::sandbox_lost;
    case 413:
    case 429: return ErrorCode::limit_reached;
    case 501: return ErrorCode::unsupported;
    case 502:
    case 503: return ErrorCode::unavailable;
    case 504: return ErrorCode::timeout;
    default: return status >= 500 ? ErrorCode::internal : ErrorCode::protocol;
  }
}

// The message of the service; empty if the response is not from the service.
std::string message_of(const http::Response& response) {
  const auto body = json::parse_object(response.body);
  if (!body) return {};
  const json::value* error = json::find(*body, "error");
  if (error != nullptr && error->is_object()) {
    std::string message = json::text(error->get_object(), "message");
    const std::string request = json::text(error->get_object(), "request_id");
    if (response.status >= 500 && !request.empty()) message += " (request " + request + ")";
    return message;
  }
  return json::text(*body, "detail");
}

}  // namespace

Error error_of_answer(const http::Response& response, Shown shown) {
  Error error;
  error.code = code_of(response.status);
  error.message = message_of(response);
  if (error.message.empty()) {
    error.message = "the server answered " + std::to_string(response.status) +
                    (response.reason.empty() ? "" : " " + response.reason) + "; is it a Cloche service?";
  }
  if (response.status == 401) {
    error.message +=
        shown == Shown::token
            ? "; the token may have been revoked or belong to another service: run `cloche token list` on the "
              "service's machine to see the valid ones"
            : "; create a token with `cloche token create --tenant NAME` on the service's machine and pass it "
              "in $CLOCHE_TOKEN or with --token-file";
  } else if (response.status == 403 && error.message.find("tenant") != std::string::npos) {
    error.message += "; only a token with the role admin may act for another tenant";
  } else if (response.status == 410) {
    error.message += "; run `cloche sessions kill` to remove the rest of the session, then create it again";
  }
  return error;
}

}  // namespace cloche::cli
