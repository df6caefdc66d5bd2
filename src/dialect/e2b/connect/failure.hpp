// Errors as clients of the Connect protocol see them.
#pragma once

#include <expected>
#include <string>

#include "connect/code.hpp"
#include "core/result.hpp"

namespace cloche::dialect::e2b::connect {

using cloche::connect::Code;
using cloche::connect::status_of;
using cloche::connect::to_string;

Code code_of(ErrorCode code);
// For a body that the server could not read.
Code code_of_status(unsigned status);

// What a client is told. Errors of ours become one: those of the server itself without their message.
struct Failure {
  Code code = Code::internal;
  std::string message;
  std::string detail;  // of an internal error, for the log

  Failure(Code code_of_failure, std::string text) : code(code_of_failure), message(std::move(text)) {}
  Failure(Error error);  // NOLINT(google-explicit-constructor): so that CLOCHE_CO_TRY takes it along
};

template <class T = void>
using Reply = std::expected<T, Failure>;

inline std::unexpected<Failure> failure(Code code, std::string message) {
  return std::unexpected(Failure(code, std::move(message)));
}

// {"code": ..., "message": ...}
std::string to_json(const Failure& failure);

}  // namespace cloche::dialect::e2b::connect
