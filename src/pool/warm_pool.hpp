// WarmPool: keeps sandboxes of one profile warm and leases them. It does what its Policy decides: creating, resetting
// and removing run in separate tasks, so that a claim that finds an idle sandbox does not wait.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "cloche/manager_options.hpp"
#include "core/async/event.hpp"
#include "core/async/gate.hpp"
#include "core/async/task_group.hpp"
#include "pool/journal.hpp"
#include "pool/lease.hpp"
#include "pool/load_watch.hpp"
#include "pool/outlets.hpp"
#include "pool/policy.hpp"
#include "pool/secrets.hpp"
#include "pool/tenancy.hpp"

namespace cloche::pool {

// What all pools of a manager share.
struct Surroundings {
  Executor executor;
  Backend& backend;
  Journal& journal;
  const Secrets& secrets;
  const auth::AccessTable& access;
  Outlets& outlets;
  Gate& making;
  Gate& removing;
  Gate& removing_again;  // for those that have resisted: they do not hold up the others
  std::string name_prefix;
  Callers callers;
  const VolumeSource& volumes;
};

class WarmPool : public std::enable_shared_from_this<WarmPool> {
 public:
  WarmPool(Surroundings surroundings, Profile profile);

  const Profile& profile() const { return profile_; }
  const std::string& fingerprint() const { return fingerprint_; }

  // A sandbox of an earlier process; one that cannot be had clean is destroyed.
  Task<> adopt(std::unique_ptr<Enclosure> enclosure, JournalEntry entry);
  // A sandbox that was held, unchanged. What a claim had bound is no longer known.
  Task<Result<Lease>> adopt_held(std::unique_ptr<Enclosure> enclosure, JournalEntry entry);
  // Begins to fill up. A pool whose sandboxes are all made for a claim keeps none ready.
  Task<> start();

  // If all are leased, it fails as the options say: limit_reached or timeout, with the pool's figures; unavailable
  // after shutdown has begun; otherwise with the error of creating or binding.
  Task<Result<Lease>> claim(ClaimOptions options, Deadline deadline = Deadline::never());
  // A lease that ends only when it is given back, and is handed to `holder` again after a crash of this process. Its
  // sandbox has these volumes in addition to those of the profile, and is not used again.
  Task<Result<Lease>> claim_lasting(ClaimOptions options, std::string holder, Deadline deadline = Deadline::never(),
                                    std::vector<VolumeMount> volumes = {});
  // What these options would bind. not_found if the tenant may not use the profile or one of the secrets.
  Result<Binding> binding_of(const ClaimOptions& options) const;

  // Called by leases. False, and harmless, when the claim does not have the slot (any more).
  bool give_back(SlotId slot, ClaimId claim);
  bool destroy(SlotId slot, ClaimId claim);
  // `sandbox_lost` when the claim does not have the slot (any more).
  Task<Status> set_network(SlotId slot, ClaimId claim, egress::Policy network, Deadline deadline);
  std::shared_ptr<egress::Books> egress_books(SlotId slot, ClaimId claim) const;

  // The work of a monitor every second: what is too old, what is missing, what died silently, how high the load is.
  void watch();

  PoolStats stats() const;
  // Sandboxes whose removal has failed; it is retried again and again.
  std::vector<Unremoved> unremoved() const;
  std::uint32_t lent_to(const std::string& tenant) const { return policy_.lent_to(tenant); }
  std::uint32_t tenant_limit() const { return policy_.tenant_limit(); }
  Status resize(PoolOptions options);

  // Shutdown, in this order: nothing new is leased; leases end; what cannot be removed is left for recovery.
  void close();
  Task<> wait_until_unlent(Deadline deadline);
  void end_leases();
  Task<> wait_until_empty(Deadline deadline);
  // wait_until_unlent waits no more.
  void hasten();
  // How many sandboxes were left.
  Task<std::size_t> abandon();

 private:
  struct Room {
    std::string name;
    std::shared_ptr<LiveSandbox> sandbox;  // none while it is being made
    std::string holder;                    // of the lease; empty: none in particular
    std::shared_ptr<Outlet> outlet;        // of the lease, if it has a network
    std::shared_ptr<egress::Books> books;  // of the lease, if it ever had one
    std::vector<volume::Use> volumes;      // of the lease
    std::optional<ClaimId> order;          // the claim that it is made for, if no other may have it
    std::vector<MountedVolume> mounted;    // for a sandbox that is made with volumes, until then
    Time looked_at;
    bool limits_bound = false;
    bool being_looked_at = false;
    std::optional<Unremoved> unremoved;
  };
  class Waiter;

  static Time now() { return Deadline::Clock::now(); }
  // At least 1, for people.
  static std::int64_t seconds_until(Time time) {
    return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(time - now()).count());
  }

  // Does what the policy has decided. Does not throw: failures are reported to the policy.
  void act();
  void carry_out(const Action& action);
  void give_up(const Action& action, const std::exception_ptr& thrown);
  void on_serve(const Serve& serve);
  void on_refuse(const Refuse& refuse);
  Task<> make(SlotId slot, Urgency urgency);
  Task<Result<std::shared_ptr<LiveSandbox>>> make_named(SlotId slot, std::string name, Urgency urgency);
  Task<> reset(SlotId slot);
  Task<Status> make_clean(LiveSandbox& sandbox, bool limits_bound);
  // What the lease had, before the sandbox is reset or removed.
  Task<> close_outlet(SlotId slot);
  Task<> remove(SlotId slot, RemoveReason reason);
  Task<Status> try_to_remove(std::string name, std::shared_ptr<LiveSandbox> sandbox, std::uint32_t tries);
  Task<> look_at(SlotId slot);
  // Looks now at all idle ones that nothing was heard of lately.
  void look_at_idle(Deadline::Clock::duration unheard_for);
  // Whether a sandbox that is about to be handed out answers. One that was heard of just now needs no question, unless
  // it is kept for long.
  Task<bool> answers(SlotId slot, Policy::Term term);
  // A place in the queue, and the sandbox that it led to.
  // With volumes, a sandbox that is made with them.
  Task<Result<SlotId>> wait_for_turn(ClaimId id, const ClaimOptions& options, const std::string& holder,
                                     Deadline deadline, std::optional<volume::Prepared> order);
  Task<Status> bind(Room& room, const Binding& binding, ClaimOptions options, Deadline deadline);
  Task<Result<Lease>> claim_for(ClaimOptions options, std::string holder, Deadline deadline,
                                std::vector<VolumeMount> volumes);
  Task<Result<Lease>> claim_unguarded(ClaimOptions options, std::string holder, Deadline deadline,
                                      std::vector<VolumeMount> volumes);
  // Those of a claim and those of the profile, each with its place.
  Result<std::vector<VolumeMount>> all_volumes(std::vector<VolumeMount> claimed) const;
  // The volumes of a claim, where a sandbox has to be made with them; none where it gets them later.
  Task<Result<std::optional<volume::Prepared>>> prepare_order(std::vector<VolumeMount> volumes, Deadline deadline);
  Task<Status> attach_volumes(SlotId slot, ClaimId claim, std::vector<VolumeMount> volumes, Deadline deadline);
  Error refusal_of_binding(Error error) const;
  void settle_in(SlotId slot, std::shared_ptr<LiveSandbox> sandbox);
  void on_death(SlotId slot);
  SandboxSpec spec_for(const std::string& name) const;
  std::string next_name();
  std::string figures() const;
  PoolOptions effective(PoolOptions options) const;
  void begin_making(const Make& make);
  void note(Status written, const std::string& name) const;

  Surroundings surroundings_;
  Profile profile_;
  std::string fingerprint_;
  std::string pool_id_;
  std::uint32_t sequence_ = 0;
  bool makes_to_order_ = false;  // every claim has volumes that a sandbox must be made with
  Policy policy_;
  std::unordered_map<SlotId, Room> rooms_;
  std::unordered_map<ClaimId, Waiter*> waiters_;
  ClaimId next_claim_ = 1;
  Error last_make_error_;
  LoadWatch load_;
  PoolStats counted_;  // what only adds up
  bool hastened_ = false;
  Event went_;  // a sandbox is no longer leased, or is gone
  TaskGroup tasks_;
};

}  // namespace cloche::pool
