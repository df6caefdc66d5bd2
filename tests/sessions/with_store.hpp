// A store of sessions over a pool, for tests of what goes on in sessions.
#pragma once

#include <optional>

#include "language/language_registry.hpp"
#include "session/store.hpp"
#include "snapshot/snapshots.hpp"
#include "support/pools.hpp"

namespace cloche {

auth::AuthorizedTenant tenant(const std::string& name = "red");
Deadline soon();
const LanguageRegistry& languages();

struct StoreSetup {
  session::StoreOptions store;
  auth::QuotaOptions quota;
  snapshot::SnapshotOptions snapshots;
  std::optional<Profile> profile;  // of the pool; without one: one sandbox warm, four at the most
};

class WithStore : public Pools {
 protected:
  // Starts a manager and a store, runs the body, ends all sessions.
  void in_store(StoreSetup setup, std::function<Task<>(pool::Manager&, session::SessionStore&)> body);
  void in_store(std::function<Task<>(session::SessionStore&)> body);

  // Of the body that runs.
  std::shared_ptr<snapshot::SnapshotStore> snapshot_store_;
  snapshot::Snapshots* snapshots_ = nullptr;
};

}  // namespace cloche
