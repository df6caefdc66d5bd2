// HTTP to an application in a sandbox, over the channel: works without any network.
#pragma once

#include "cloche/container_types.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche::runner {

// Redirects within the application are followed. Errors: `not_found` if nothing is listening, `timeout`, `protocol` if
// the response is not HTTP, `unavailable` if the application closes the connection, `limit_reached` if the response is
// too long. A response with an error status is a response.
Task<Result<AppResponse>> send_app_request(LiveSandbox& sandbox, AppRequest request, std::uint16_t default_port);

}  // namespace cloche::runner
