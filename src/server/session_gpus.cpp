#include "server/session_gpus.hpp"

#include <algorithm>

namespace cloche::server {

Status settle_session_gpus(config::Config& config, SessionProfile origin) {
  if (!config.sessions.gpus) return {};
  auto& profiles = config.manager.profiles;
  const auto found = std::ranges::find(profiles, config.sessions.profile, &Profile::name);
  if (found == profiles.end() || !found->sandbox.gpus.empty()) return {};
  if (found->network.mode != Network::none && !config.sessions.gpus_with_network) {
    return fail(ErrorCode::invalid_argument, "profile '" + found->name + "', with SANDBOX_GPU_ENABLED: " +
                                                 std::string(config::no_network_with_gpus));
  }
  found->sandbox.gpus.count = 1;
  // A sandbox that is kept warm keeps its GPU from all others.
  found->pool.pool_size = 0;
  if (origin == SessionProfile::made) {
    config.access.profiles.try_emplace(found->name, auth::AccessList::all());
  }
  return {};
}

}  // namespace cloche::server
