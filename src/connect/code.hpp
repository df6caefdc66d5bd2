// Codes of the Connect protocol.
#pragma once

#include <optional>
#include <string_view>

#include "core/result.hpp"

namespace cloche::connect {

enum class Code {
  canceled,
  unknown,
  invalid_argument,
  deadline_exceeded,
  not_found,
  already_exists,
  permission_denied,
  resource_exhausted,
  failed_precondition,
  aborted,
  out_of_range,
  unimplemented,
  internal,
  unavailable,
  data_loss,
  unauthenticated,
};

std::string_view to_string(Code code);
// Null for an unknown name.
std::optional<Code> parse_code(std::string_view name);
// Of the response to a unary call.
unsigned status_of(Code code);

// A server's error as one of ours.
ErrorCode error_code_of(Code code);

}  // namespace cloche::connect
