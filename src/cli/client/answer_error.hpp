// From an unsuccessful response of the service to an error that says what to do.
#pragma once

#include "core/result.hpp"
#include "http/message.hpp"

namespace cloche::cli {

enum class Shown { token, no_token };

// Reads {"error": {"code", "message"}} and {"detail"}; an answer that is neither is not Cloche's, and that is said.
Error error_of_answer(const http::Response& response, Shown shown);

}  // namespace cloche::cli
