// Policy: everything that a pool decides, and nothing that it does. No clock, no I/O, no coroutine: it receives events
// and returns actions. So it can be tested with thousands of random schedules.
//
// A slot is a place for one sandbox, from before its creation until it is gone. There are never more slots than
// `scale_limit`. A claim is a caller that wants a sandbox. The claims of one tenant are served in order. Between
// tenants, each free sandbox or slot goes to the one with the fewest leased sandboxes; among equals, to the one that
// was served the longest time ago. No tenant has more than `tenant_limit` leased sandboxes, nor more than that share of
// the queue.
//
// A sandbox that served one tenant never serves another. One that no waiting claim may have is evicted for those that
// wait.
//
// A claim may want a sandbox that is made for it, because it differs from the others. It gets no other, and no other
// claim gets that one, which is removed when it is released.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cloche/profile.hpp"

namespace cloche::pool {

using Time = std::chrono::steady_clock::time_point;
using SlotId = std::uint64_t;
using ClaimId = std::uint64_t;

enum class SlotState { making, idle, lent, resetting, removing };

enum class RemoveReason {
  idle_too_long,
  worn_out,      // max_uses
  never_reused,  // Reuse::never
  poisoned,      // its lease said so
  lent_too_long,
  died,
  reset_failed,
  evicted,  // for a claim that may not have it
  surplus,  // there are more than a lowered limit allows
  shutdown,
};
std::string_view to_string(RemoveReason reason);

enum class RefuseReason {
  at_limit,
  tenant_limit,
  queue_full,
  shutting_down,
  make_failed,
  backing_off,  // making has failed several times in a row, and is not tried again yet
};

// Actions. Make, Reset and Remove are answered by made() or make_failed(), reset_done() and removed().
struct Make {
  SlotId slot;
  bool urgent;                        // a claim waits for it
  std::optional<ClaimId> order = {};  // the claim that it is made for, if no other may have it
};
struct Serve {
  ClaimId claim;
  SlotId slot;
};
struct Refuse {
  ClaimId claim;
  RefuseReason reason;
};
struct Reset {
  SlotId slot;
};
struct Remove {
  SlotId slot;
  RemoveReason reason;
};
using Action = std::variant<Make, Serve, Refuse, Reset, Remove>;

struct Counts {
  std::uint32_t making = 0;
  std::uint32_t idle = 0;
  std::uint32_t lent = 0;
  std::uint32_t resetting = 0;
  std::uint32_t removing = 0;
  std::uint32_t total() const { return making + idle + lent + resetting + removing; }
};

class Policy {
 public:
  // The seed makes pauses after failures differ from those of other pools.
  explicit Policy(PoolOptions options, std::uint32_t seed = 1);

  // Fills up. Also called whenever time has passed: idle and leased sandboxes become too old, a refill is due again.
  void tick(Time now);

  enum class Term {
    bounded,  // by running_timeout
    lasting,  // until it is given back
  };
  enum class Wants {
    any,
    made_for_it,
  };
  void claim(ClaimId claim, std::string tenant, AtLimit at_limit, Time now, Term term = Term::bounded,
             Wants wants = Wants::any);
  // The caller left, or waited too long. False when it was served or refused already.
  bool cancel(ClaimId claim, Time now);

  void made(SlotId slot, Time now);
  // The place is free again; the claim it was for, if it still waits, is refused. After two failures in a row nothing
  // is made for a while, longer with each further one; claims that would need a new sandbox are refused at once. After
  // the pause one is tried at a time, until one succeeds. A failure of one that was made for a claim says nothing about
  // others, and does not count.
  void make_failed(SlotId slot, Time now);
  // When making is tried again; in the past, or never set, when it may be tried now.
  Time tries_again_at() const { return refill_from_; }

  // Both return false, without effect, if the claim does not have the slot (any more).
  bool give_back(SlotId slot, ClaimId claim, Time now);
  bool destroy(SlotId slot, ClaimId claim, Time now);

  enum class ResetResult { clean, failed };
  void reset_done(SlotId slot, ResetResult result, Time now);
  void removed(SlotId slot, Time now);
  // The sandbox died by itself.
  void died(SlotId slot, Time now);

  // An existing sandbox, clean and idle. `tenant` is unset if it has not been used.
  SlotId adopt(std::optional<std::string> tenant, std::uint32_t uses, Time now);
  // A sandbox that was leased before, to a holder that still wants it.
  SlotId adopt_lent(ClaimId claim, std::string tenant, std::uint32_t uses, Time now);

  void resize(PoolOptions options, Time now);

  // No claim is served any more; what is not leased is removed. Leased sandboxes follow when they are released.
  void shut_down(Time now);
  // Removes leased sandboxes, too, immediately.
  void end_leases(Time now);

  std::vector<Action> take_actions();

  const Counts& counts() const { return counts_; }
  std::uint32_t lent_to(const std::string& tenant) const;
  std::uint32_t tenant_limit() const;
  // Claims that are neither served nor refused.
  std::size_t waiting() const;
  const PoolOptions& options() const { return options_; }
  std::optional<SlotState> state(SlotId slot) const;
  bool is_lent_to(SlotId slot, ClaimId claim) const;
  std::uint32_t uses(SlotId slot) const;
  std::optional<std::string> tenant(SlotId slot) const;
  // A claim that no longer wants a sandbox, although one is still being created for it.
  bool is_unwanted(SlotId slot) const;

 private:
  struct Slot {
    SlotState state = SlotState::making;
    Time since;  // in this state
    std::optional<std::string> tenant;
    std::uint32_t uses = 0;
    ClaimId lease = 0;                // leased: to which claim
    Term term = Term::bounded;        // leased: for how long
    std::optional<ClaimId> made_for;  // making: whose claim fails with it
    bool dead = false;                // leased: died meanwhile
    bool unwanted = false;            // making: to be removed as soon as it is made
    bool ordered = false;             // made for one claim alone; counts as leased to its tenant from the beginning
  };
  struct Waiting {
    ClaimId claim = 0;
    std::string tenant;
    Term term = Term::bounded;
    Wants wants = Wants::any;
    std::optional<SlotId> maker;  // the slot that is being made for it
  };
  using Slots = std::map<SlotId, Slot>;
  using Queue = std::list<Waiting>;  // in the order in which they came

  void note_early_death(const Slot& slot, Time now);
  void settle(Time now);
  void serve_waiting(Time now);
  void refill(Time now);
  bool is_backing_off(Time now) const;
  Time::duration next_pause(std::uint32_t doublings);
  void end_old_leases(Time now);
  void remove_old_idle(Time now);
  void remove_surplus(Time now);
  SlotId start_making(std::optional<ClaimId> made_for, Time now);
  // The claim leaves the queue: all that it waits for now is its own sandbox.
  void start_order(Queue::iterator waiting, Time now);
  Slots::iterator find_order(ClaimId claim);
  // Begins it, or makes room for it.
  enum class Ordering { begun, refused, waits, stuck };
  Ordering order(Queue::iterator waiting, std::uint32_t& coming, Time now);
  void start_removing(Slots::iterator slot, RemoveReason reason, Time now);
  void forget_tenant(const Slot& slot);
  void serve(Queue::iterator waiting, Slots::iterator slot, Time now);
  void lend(Slots::iterator slot, ClaimId claim, Term term, Time now);
  // All that wait, those first whose turn it is.
  std::vector<Queue::iterator> by_turn();
  // Why a claim that just came, and would have to wait, may not.
  std::optional<RefuseReason> refusal_of(const Waiting& waiting, AtLimit at_limit);
  std::uint32_t waiting_of(const std::string& tenant) const;
  bool may_have_more(const std::string& tenant) const { return lent_to(tenant) < tenant_limit(); }
  // A claim that needs it no more leaves its maker to the first claim that has none.
  void hand_on(std::optional<SlotId> maker);
  void count_lent(const Slot& slot, SlotState next);
  void change_state(Slot& slot, SlotState state, Time now);
  std::uint32_t& count_of(SlotState state);
  Slots::iterator find_usable(const std::string& tenant);
  // The one that has been idle longest among those that served a tenant.
  Slots::iterator find_longest_idle_of_a_tenant();
  // The one that has been idle longest; one of a tenant before one that any tenant may have.
  Slots::iterator find_least_needed();
  std::uint32_t stock() const;
  bool has_one_tenant() const { return tenants_.size() <= 1; }
  bool has_room() const { return slots_.size() < options_.scale_limit; }

  PoolOptions options_;
  Slots slots_;
  Counts counts_;
  std::map<std::string, std::uint32_t> tenants_;  // how many sandboxes have served each, of those that may be reused
  std::map<std::string, std::uint32_t> lent_;     // to each tenant
  std::map<std::string, std::uint64_t> last_served_;  // when each tenant was: the how manieth service it was
  std::uint64_t served_ = 0;
  std::uint32_t unbound_makers_ = 0;
  SlotId next_slot_ = 1;
  Queue queue_;
  std::vector<Action> actions_;
  std::uint32_t failures_ = 0;  // of making, in a row; those that were under way together count as one
  Time last_failure_;
  Time refill_from_;                // not before, after a failure
  std::uint32_t early_deaths_ = 0;  // of sandboxes that were never leased, in a row
  std::uint32_t random_;
  bool shutting_down_ = false;
};

}  // namespace cloche::pool
