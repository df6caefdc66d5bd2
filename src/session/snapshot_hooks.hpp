// SnapshotHooks: what the store of sessions needs of snapshots. All empty where a server has none.
#pragma once

#include <functional>
#include <string>

#include "auth/principal.hpp"
#include "core/async/task.hpp"
#include "core/deadline.hpp"
#include "core/result.hpp"
#include "pool/lease.hpp"

namespace cloche::snapshot {
class Snapshots;
}

namespace cloche::session {

struct SnapshotHooks {
  // The id of the snapshot with this id or name. `not_found` if the tenant has none.
  std::function<Task<Result<std::string>>(auth::AuthorizedTenant tenant, std::string snapshot)> find;
  // Puts the files of a snapshot of this tenant into a new sandbox.
  std::function<Task<Status>(auth::AuthorizedTenant tenant, std::string snapshot, pool::Lease& lease,
                             Deadline deadline)>
      restore;
  // Takes a snapshot that is in no list and does not outlive this process; returns its id.
  std::function<Task<Result<std::string>>(auth::AuthorizedTenant tenant, std::string session, pool::Lease& lease,
                                          Deadline deadline)>
      capture;
  // Removes what `capture` took.
  std::function<Task<Status>(auth::AuthorizedTenant tenant, std::string snapshot)> discard;
};

// Those of this server, which outlive their users.
SnapshotHooks hooks_for(snapshot::Snapshots& snapshots);

}  // namespace cloche::session
