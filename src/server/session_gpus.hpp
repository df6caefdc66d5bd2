// GPUs of sessions by SANDBOX_GPU_ENABLED.
#pragma once

#include "config/config.hpp"
#include "server/session_workspace.hpp"

namespace cloche::server {

// One GPU for each session, if the variable is set and the profile of sessions has none. A profile that Cloche made is
// then for every tenant. invalid_argument if the profile has a network that it must not have.
Status settle_session_gpus(config::Config& config, SessionProfile origin);

}  // namespace cloche::server
