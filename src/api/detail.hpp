// Errors of the lease interface: {"detail": message}. The one place where they are made.
#pragma once

#include <expected>
#include <string>

#include "core/result.hpp"
#include "http/server/exchange.hpp"

namespace cloche::api {

// An error and the status it is answered with: that of the table in api/errors.hpp, unless the interface has another.
struct DetailError {
  DetailError(Error what);  // NOLINT(google-explicit-constructor): so that `fail` and CLOCHE_TRY take it along
  DetailError(unsigned code, Error what) : status(code), error(std::move(what)) {}

  unsigned status;
  Error error;
};

template <class T>
using DetailResult = std::expected<T, DetailError>;

// The request does not have the form that the route wants: 422.
std::unexpected<DetailError> unprocessable(Error error);

// Answers with the message alone; what went wrong inside is for the log.
Task<> answer_detail(http::Exchange& exchange, unsigned status, std::string message, http::Fields fields);

// Logs it, and answers unless an answer has begun. Where the body could not be read the status is the one that fits
// that: 413, 415, 408.
Task<> answer_detail_error(http::Exchange& exchange, DetailError error);

}  // namespace cloche::api
