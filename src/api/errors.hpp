// From an Error to an HTTP response: the only table of statuses and of the codes that clients can rely on.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "http/server/exchange.hpp"
#include "http/server/server.hpp"

namespace cloche::api {

struct ErrorAnswer {
  unsigned status = 500;
  std::string_view code;
};

ErrorAnswer answer_for(ErrorCode code);
// The message of every 500: the cause itself is for the log, where the request id finds it.
inline constexpr std::string_view internal_error_message = "internal error; see the server log for this request id";
// Whether the same call may succeed later: the answer has Retry-After.
bool is_worth_another_try(ErrorCode code);

// {"error": {"code", "message", "request_id"}}
http::ErrorBody error_body(unsigned status, std::string_view code, std::string_view message,
                           std::string_view request_id);
// The same for what the server itself refuses.
http::ErrorBody error_body_of_server(unsigned status, std::string_view why, std::string_view request_id);

// Logs what the caller does not see.
void log_failure(const http::Exchange& exchange, const Error& error);

Task<> answer_error(http::Exchange& exchange, const Error& error);
// An error in the usual form, with a code of its own.
Task<Status> answer_refusal(http::Exchange& exchange, unsigned status, std::string code, std::string message);

}  // namespace cloche::api
