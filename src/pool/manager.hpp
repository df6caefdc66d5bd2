// Manager: the pools of one instance, by the name of their profile or another name for it; their recovery after a
// crash, their monitor, their shutdown.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cloche/manager_options.hpp"
#include "pool/tenancy.hpp"
#include "pool/warm_pool.hpp"

namespace cloche::pool {

class Manager {
 public:
  // Refuses options that make no sense. The backend outlives the manager.
  static Result<std::unique_ptr<Manager>> create(Executor executor, Backend& backend, std::unique_ptr<Journal> journal,
                                                 ManagerOptions options, Tenancy tenancy);

  // Proves that sandboxes can be made here, one for each way in which profiles ask for them. An engine that does not
  // answer is asked again for some seconds.
  Task<Status> prove(Deadline deadline);

  // Takes over or removes what an earlier process of this instance left, then begins to fill the pools.
  Task<Status> start(Deadline deadline);

  // Leases that were held (WarmPool::claim_lasting) when an earlier process ended, by their holder's name. Those that
  // are not taken end with the manager.
  std::map<std::string, Lease> take_held() { return std::exchange(held_, {}); }

  // For internal wiring, without access control. not_found lists the existing pools.
  Result<std::shared_ptr<WarmPool>> find(const std::string& name) const;
  // For requests: a pool that the tenant may use. A pool that it may not use is not_found, like one that does not
  // exist, and the error lists the tenant's pools.
  Result<std::shared_ptr<WarmPool>> find_for(const std::string& tenant, const std::string& name) const;
  const auth::AccessTable& access() const { return tenancy_.access; }
  // Those that every lease of a profile has.
  std::vector<VolumeMount> volumes_of(const std::string& profile) const;
  Task<Result<Lease>> acquire(std::string name, ClaimOptions options, Deadline deadline = Deadline::never());

  std::map<std::string, PoolStats> stats() const;  // by profile
  egress::Totals egress_totals() const { return outlets_->totals(); }
  // Where this server listens: no sandbox's connection gets there.
  void forbid(const egress::ForbiddenPlace& place) { outlets_->forbid(place); }
  // Sandboxes that could not be removed so far, of all pools and of none. Each is tried again every now and then.
  std::vector<Unremoved> unremoved() const;

  // Stops leasing; leases have drain_timeout to end by themselves; then everything is removed. Reports how many
  // sandboxes could not be removed and are left to the next start. Later callers wait with the first.
  Task<Status> shut_down();
  // Shutdown waits for no lease any more.
  void hasten();

  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

 private:
  Manager(Executor executor, Backend& backend, std::unique_ptr<Journal> journal, ManagerOptions options,
          Tenancy tenancy);
  void make_pools();
  const std::string& profile_of(const std::string& name) const;
  std::string names_for(const std::string& tenant) const;
  Task<Status> wait_for_engine(Deadline deadline);
  Task<Status> recover(Deadline deadline);
  // Leaves the enclosure where it is if nothing was done with it.
  Task<Status> meet_again(std::unique_ptr<Enclosure>& enclosure, const JournalEntry* entry);
  Task<> meet_or_destroy(std::unique_ptr<Enclosure> enclosure, std::optional<JournalEntry> entry);
  Task<> destroy_left(std::unique_ptr<Enclosure> enclosure);
  Task<> monitor();
  Task<> retry_removals();
  Task<Status> end();

  Executor executor_;
  Backend& backend_;
  std::unique_ptr<Journal> journal_;
  ManagerOptions options_;
  Tenancy tenancy_;
  Secrets secrets_;
  std::unique_ptr<Outlets> outlets_;
  Gate making_;
  Gate removing_;
  Gate removing_again_;
  std::map<std::string, std::shared_ptr<WarmPool>> pools_;
  std::map<std::string, Lease> held_;
  enum class Phase { made, running, ending, ended } phase_ = Phase::made;
  Status ended_with_;
  Event ended_;
  TaskGroup tasks_;
};

}  // namespace cloche::pool
