// Unary calls: a message in JSON, and a message or an error back.
#pragma once

#include <functional>

#include "dialect/e2b/connect/failure.hpp"
#include "dialect/e2b/connect/proto_object.hpp"
#include "http/server/exchange.hpp"

namespace cloche::dialect::e2b::connect {

// Messages of requests, unary or of a stream.
constexpr Bytes longest_message = mib(16);

using UnaryHandler = std::function<Task<Reply<json::value>>(const ProtoObject& message, Deadline deadline)>;

// Reads the message, calls the handler and answers. A type other than application/json is answered with 415. The
// deadline is that of the request's Connect-Timeout-Ms.
Task<> serve_unary(http::Exchange& exchange, UnaryHandler handler);

// The form of all errors of unary calls.
Task<> answer_failure(http::Exchange& exchange, Failure failure);
// 415, with the type that would be accepted.
Task<> answer_wrong_type(http::Exchange& exchange, std::string_view accepted);
// What to say about a body that could not be read or used.
Failure failure_of_body(const http::Exchange& exchange, Error error);
// Logs what only the operator may know.
void log_failure(const http::Exchange& exchange, const Failure& failure);

}  // namespace cloche::dialect::e2b::connect
