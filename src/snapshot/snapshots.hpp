// Snapshots: a SnapshotStore for coroutines, and the way between it and sandboxes. On the thread that owns all state.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "auth/quotas.hpp"
#include "core/async/task.hpp"
#include "core/deadline.hpp"
#include "pool/lease.hpp"
#include "snapshot/taking.hpp"

namespace cloche::snapshot {

// What is told about the snapshot that is taken.
struct TakeRequest {
  std::string name;  // empty: none
  std::string session;
  std::string profile;
  Manifest::Lifetime lifetime = Manifest::Lifetime::lasting;
};

struct SnapshotList {
  std::vector<SnapshotInfo> snapshots;
  Bytes stored;  // of these tenants, as it counts in their quotas
};

class Snapshots {
 public:
  // The store is open. The quotas outlive this object.
  Snapshots(std::shared_ptr<SnapshotStore> store, const auth::Quotas& quotas);
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;
  ~Snapshots();

  // The work directory and the home directory of the lease's sandbox, as they are while they are read: programs that
  // write meanwhile are not stopped. Volumes and mounts below them are left out. limit_reached over the tenant's quota,
  // the largest size, or if too many are under way. Nothing is left of one that fails.
  Task<Result<SnapshotInfo>> take(auth::AuthorizedTenant tenant, TakeRequest request, pool::Lease& lease,
                                  Deadline deadline);
  // Puts a snapshot's files into the work directory and the home directory of a sandbox that has none of its own.
  // not_found if the tenant has no such snapshot. After an error the sandbox may have part of them.
  Task<Status> restore(auth::AuthorizedTenant tenant, std::string which, pool::Lease& lease, Deadline deadline);

  // As those of SnapshotStore.
  Task<Result<SnapshotList>> list(std::optional<std::string> tenant);
  Task<Result<SnapshotInfo>> find(auth::AuthorizedTenant tenant, std::string which);
  Task<Result<std::string>> id_of(auth::AuthorizedTenant tenant, std::string which);
  Task<Status> remove(auth::AuthorizedTenant tenant, std::string which);

 private:
  class Turn;

  std::shared_ptr<SnapshotStore> store_;
  const auth::Quotas& quotas_;
  std::map<std::string, std::uint32_t> under_way_;  // by tenant
  std::uint32_t all_under_way_ = 0;
  asio::thread_pool threads_{2};
};

}  // namespace cloche::snapshot
