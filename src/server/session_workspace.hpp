// Where sessions keep their files.
#pragma once

#include <vector>

#include "cloche/engine_options.hpp"
#include "cloche/profile.hpp"
#include "config/settings.hpp"

namespace cloche::server {

// Who wrote the profile of sessions.
enum class SessionProfile { configured, made };

// Applies `sessions:` to its profile. If it says nothing and Cloche made the profile, the files are on disk if the
// backend and this host can have disks, which is tried, for all sandboxes of the pool; otherwise they are in memory,
// and the log says why. Blocks for some milliseconds. The state directory exists.
void settle_session_workspace(std::vector<Profile>& profiles, const config::SessionSettings& sessions,
                              SessionProfile origin, const EngineOptions& engine);

}  // namespace cloche::server
