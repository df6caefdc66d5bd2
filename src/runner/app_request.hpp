// HTTP to an application in a sandbox, over the channel: works without any network.
#pragma once

#include "cloche/container_types.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche::runner {

// Redirects within the application are followed. Errors: `not_found` when nothing listens, `timeout`, `protocol` when
// the answer is no HTTP, `unavailable` when the application hangs up, `limit_reached` when the answer is too long. An
// answer of an error status is an answer.
Task<Result<AppResponse>> send_app_request(LiveSandbox& sandbox, AppRequest request, std::uint16_t default_port);

}  // namespace cloche::runner
