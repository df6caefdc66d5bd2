#include "dialect/e2b/connect/failure.hpp"

#include <boost/json/object.hpp>

#include "core/utf8.hpp"
#include "json/write_json.hpp"

namespace cloche::dialect::e2b::connect {

Code code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return Code::invalid_argument;
    case ErrorCode::not_found: return Code::not_found;
    case ErrorCode::already_exists: return Code::already_exists;
    case ErrorCode::permission_denied: return Code::permission_denied;
    case ErrorCode::limit_reached: return Code::resource_exhausted;
    case ErrorCode::unsupported: return Code::unimplemented;
    case ErrorCode::timeout: return Code::deadline_exceeded;
    case ErrorCode::cancelled: return Code::canceled;
    case ErrorCode::unavailable:
    case ErrorCode::sandbox_lost:
    case ErrorCode::ending:
    case ErrorCode::paused: return Code::unavailable;
    case ErrorCode::protocol:
    case ErrorCode::internal: break;
  }
  return Code::internal;
}

Code code_of_status(unsigned status) {
  switch (status) {
    case 408: return Code::deadline_exceeded;
    case 413:
    case 429: return Code::resource_exhausted;
    case 503: return Code::unavailable;
    default: return status < 500 ? Code::invalid_argument : Code::internal;
  }
}

Failure::Failure(Error error) : code(code_of(error.code)), message(std::move(error.message)) {
  if (code != Code::internal) return;
  if (error.code == ErrorCode::internal) detail = std::move(message);
  message = "internal error; see the server log for this request id";
}

std::string to_json(const Failure& failure) {
  json::object body;
  body["code"] = to_string(failure.code);
  body["message"] = to_utf8(failure.message);
  return write_json(body);
}

}  // namespace cloche::dialect::e2b::connect
