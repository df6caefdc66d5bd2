// Errors as E2B's clients read them: {"code": status, "message": text}, and that of the proxy in front of sandboxes.
#pragma once

#include <string>

#include "api/admission.hpp"
#include "core/result.hpp"
#include "http/server/exchange.hpp"

namespace cloche::dialect::e2b {

// The status that the control plane answers an error with.
unsigned status_of(ErrorCode code);

Task<> answer_error(http::Exchange& exchange, unsigned status, std::string message, http::Fields fields = {});
// What went wrong in a handler: a body that could not be read has its own status; an internal error is logged, and its
// message is not shown.
Task<> answer_failure(http::Exchange& exchange, Error error);
Task<> answer_denial(http::Exchange& exchange, api::Denial denial);

// 502: the sandbox does not exist, has ended or is paused. Clients take it for "not running".
Task<> answer_no_sandbox(http::Exchange& exchange, std::string sandbox);
// 502: nothing listens there.
Task<> answer_closed_port(http::Exchange& exchange, std::string sandbox, unsigned port);

}  // namespace cloche::dialect::e2b
