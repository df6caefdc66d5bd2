#include "session/snapshot_hooks.hpp"

#include "snapshot/snapshots.hpp"

namespace cloche::session {

namespace {

Task<Result<std::string>> capture_files(snapshot::Snapshots& snapshots, auth::AuthorizedTenant tenant,
                                        std::string session, pool::Lease& lease, Deadline deadline) {
  snapshot::TakeRequest wanted;
  wanted.session = std::move(session);
  wanted.lifetime = snapshot::Manifest::Lifetime::temporary;
  auto taken = co_await snapshots.take(std::move(tenant), std::move(wanted), lease, deadline);
  if (!taken) co_return fail(std::move(taken).error());
  co_return std::move(taken->id);
}

}  // namespace

SnapshotHooks hooks_for(snapshot::Snapshots& snapshots) {
  using auth::AuthorizedTenant;
  SnapshotHooks hooks;
  hooks.find = [&snapshots](AuthorizedTenant tenant, std::string which) {
    return snapshots.id_of(std::move(tenant), std::move(which));
  };
  hooks.restore = [&snapshots](AuthorizedTenant tenant, std::string which, pool::Lease& lease, Deadline deadline) {
    return snapshots.restore(std::move(tenant), std::move(which), lease, deadline);
  };
  hooks.capture = [&snapshots](AuthorizedTenant tenant, std::string session, pool::Lease& lease, Deadline deadline) {
    return capture_files(snapshots, std::move(tenant), std::move(session), lease, deadline);
  };
  hooks.discard = [&snapshots](AuthorizedTenant tenant, std::string which) {
    return snapshots.remove(std::move(tenant), std::move(which));
  };
  return hooks;
}

}  // namespace cloche::session
