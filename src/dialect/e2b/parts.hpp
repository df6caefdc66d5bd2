// Parts: what the planes of the dialect share.
#pragma once

#include "auth/authenticator.hpp"
#include "auth/quotas.hpp"
#include "config/settings.hpp"
#include "dialect/e2b/sandboxes.hpp"
#include "pool/manager.hpp"
#include "session/store.hpp"
#include "snapshot/snapshots.hpp"

namespace cloche::dialect::e2b {

// The profile of the template `base`, which Cloche makes if the configuration has none of this name.
inline constexpr const char* base_profile = "base";

// All of it outlives the dialect.
struct Surroundings {
  session::SessionStore& sessions;
  snapshot::Snapshots& snapshots;
  pool::Manager& pools;
  auth::Authenticator& authenticator;
  auth::Quotas& quotas;
};

struct Parts {
  Surroundings around;
  config::E2bSettings settings;
  Sandboxes sandboxes;

  // Whether a sandbox may have no access token.
  bool allows_insecure() const { return settings.insecure || !around.authenticator.needs_token(); }
};

// Whether the API key that a sandbox belongs to is still valid. `unavailable` if that cannot be known now.
auth::Authenticated<void> check_api_key(const Parts& parts, const Sandbox& sandbox);

// Resumes a paused sandbox, which then ends after this time.
Task<Status> resume(Parts& parts, Sandbox& sandbox, std::chrono::seconds timeout, Deadline deadline);

}  // namespace cloche::dialect::e2b
