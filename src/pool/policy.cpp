#include "pool/policy.hpp"

#include <algorithm>

namespace cloche::pool {

std::string_view to_string(RemoveReason reason) {
  switch (reason) {
    case RemoveReason::idle_too_long: return "idle too long";
    case RemoveReason::worn_out: return "worn out";
    case RemoveReason::never_reused: return "used once";
    case RemoveReason::poisoned: return "requested by its lease";
    case RemoveReason::lent_too_long: return "in use for too long";
    case RemoveReason::died: return "died";
    case RemoveReason::reset_failed: return "could not be reset";
    case RemoveReason::evicted: return "replaced for another claim";
    case RemoveReason::surplus: return "above the limit";
    case RemoveReason::shutdown: return "shutdown";
  }
  return "?";
}

namespace {

constexpr std::chrono::milliseconds first_pause_after_failure{200};
constexpr std::uint32_t most_doublings = 7;  // 26 s
// One failure may be chance: the next claim has a try of its own.
constexpr std::uint32_t failures_before_backing_off = 2;
constexpr std::chrono::seconds early_death{5};
// A tenant's idle sandbox makes way for fresh stock only after this, so that a busy tenant finds its own again.
constexpr std::chrono::seconds settled_after{1};
constexpr std::size_t most_remembered = 10'000;  // tenants that were served

}  // namespace

Policy::Policy(PoolOptions options, std::uint32_t seed) : options_(options), random_(seed | 1) {}

void Policy::tick(Time now) {
  if (!shutting_down_) {
    end_old_leases(now);
    remove_surplus(now);
    remove_old_idle(now);
  }
  settle(now);
}

void Policy::claim(ClaimId claim, std::string tenant, AtLimit at_limit, Time now, Term term, Wants wants) {
  if (shutting_down_) {
    actions_.push_back(Refuse{claim, RefuseReason::shutting_down});
    return;
  }
  Waiting waiting;
  waiting.claim = claim;
  waiting.tenant = std::move(tenant);
  waiting.term = term;
  waiting.wants = wants;
  queue_.push_back(std::move(waiting));
  settle(now);
  const bool waits_for_others = !queue_.empty() && queue_.back().claim == claim && !queue_.back().maker;
  if (!waits_for_others) return;
  const auto refusal = refusal_of(queue_.back(), at_limit);
  if (!refusal) return;
  queue_.pop_back();
  actions_.push_back(Refuse{claim, *refusal});
}

std::optional<RefuseReason> Policy::refusal_of(const Waiting& claim, AtLimit at_limit) {
  const bool is_shared = tenant_limit() < options_.scale_limit;
  const bool beyond_share = is_shared && lent_to(claim.tenant) + waiting_of(claim.tenant) > tenant_limit();
  // Who keeps sandboxes until they are given back would wait for nothing but itself.
  if (beyond_share && (at_limit == AtLimit::fail || claim.term == Term::lasting)) return RefuseReason::tenant_limit;
  std::uint32_t ahead = 0;  // that wait for what is coming, this one among them
  std::uint32_t all = 0;
  std::uint32_t own = 0;
  bool seen = false;
  for (const auto& waiting : by_turn()) {
    if (waiting->maker) continue;
    ++all;
    if (waiting->tenant == claim.tenant) ++own;
    if (!seen && (waiting->tenant == claim.tenant || may_have_more(waiting->tenant))) ++ahead;
    seen = seen || waiting->claim == claim.claim;
  }
  // What is about to be free counts as free, as long as no other claim is served before.
  if (at_limit == AtLimit::fail && ahead > counts_.resetting + counts_.removing) return RefuseReason::at_limit;
  const std::uint64_t share =
      (std::uint64_t{options_.max_waiting} * tenant_limit() + options_.scale_limit - 1) / options_.scale_limit;
  if (at_limit == AtLimit::wait && (all > options_.max_waiting || own > share)) return RefuseReason::queue_full;
  return std::nullopt;
}

std::uint32_t Policy::lent_to(const std::string& tenant) const {
  const auto found = lent_.find(tenant);
  return found == lent_.end() ? 0 : found->second;
}

std::uint32_t Policy::tenant_limit() const {
  return std::min(options_.tenant_limit.value_or(options_.scale_limit), options_.scale_limit);
}

std::uint32_t Policy::waiting_of(const std::string& tenant) const {
  return static_cast<std::uint32_t>(std::ranges::count(queue_, tenant, &Waiting::tenant));
}

// A claim's rank is the number of sandboxes that its tenant will have before it. So the tenants take turns, and those
// with fewer sandboxes come first.
std::vector<Policy::Queue::iterator> Policy::by_turn() {
  struct Turn {
    std::uint32_t rank;
    std::uint64_t last_served;
    Queue::iterator waiting;
  };
  std::vector<Turn> turns;
  turns.reserve(queue_.size());
  std::map<std::string_view, std::pair<std::uint32_t, std::uint64_t>> tenants;
  for (auto waiting = queue_.begin(); waiting != queue_.end(); ++waiting) {
    auto tenant = tenants.find(waiting->tenant);
    if (tenant == tenants.end()) {
      const auto last = last_served_.find(waiting->tenant);
      const std::uint64_t when = last == last_served_.end() ? 0 : last->second;
      tenant = tenants.emplace(waiting->tenant, std::pair(lent_to(waiting->tenant), when)).first;
    }
    turns.push_back({tenant->second.first, tenant->second.second, waiting});
    // One that waits for a place of its own takes none of what others wait for.
    if (waiting->wants == Wants::any) ++tenant->second.first;
  }
  if (tenants.size() > 1) {
    std::ranges::stable_sort(turns, {}, [](const Turn& turn) { return std::pair(turn.rank, turn.last_served); });
  }
  std::vector<Queue::iterator> order;
  order.reserve(turns.size());
  for (const Turn& turn : turns) order.push_back(turn.waiting);
  return order;
}

bool Policy::cancel(ClaimId claim, Time now) {
  const auto found = std::ranges::find(queue_, claim, &Waiting::claim);
  if (found == queue_.end()) {
    const auto ordered = find_order(claim);
    if (ordered == slots_.end()) return false;
    ordered->second.unwanted = true;
    ordered->second.made_for.reset();
    return true;
  }
  const auto maker = found->maker;
  queue_.erase(found);
  hand_on(maker);
  settle(now);
  return true;
}

void Policy::made(SlotId id, Time now) {
  const auto slot = slots_.find(id);
  if (slot == slots_.end() || slot->second.state != SlotState::making) return;
  failures_ = 0;
  refill_from_ = {};
  if (slot->second.unwanted) {
    start_removing(slot, shutting_down_ ? RemoveReason::shutdown : RemoveReason::poisoned, now);
    settle(now);
    return;
  }
  if (slot->second.ordered) {
    lend(slot, *std::exchange(slot->second.made_for, std::nullopt), slot->second.term, now);
    settle(now);
    return;
  }
  // Made for one claim, it may go to an older one, whose own maker then is handed on.
  if (const auto made_for = std::exchange(slot->second.made_for, std::nullopt)) {
    const auto waiting = std::ranges::find(queue_, *made_for, &Waiting::claim);
    if (waiting != queue_.end()) waiting->maker.reset();
  } else {
    --unbound_makers_;
  }
  change_state(slot->second, SlotState::idle, now);
  settle(now);
}

void Policy::make_failed(SlotId id, Time now) {
  const auto slot = slots_.find(id);
  if (slot == slots_.end() || slot->second.state != SlotState::making) return;
  const Slot failed = slot->second;
  if (failed.ordered) {
    forget_tenant(failed);
    count_lent(failed, SlotState::removing);
    --counts_.making;
    slots_.erase(slot);
    if (failed.made_for) actions_.push_back(Refuse{*failed.made_for, RefuseReason::make_failed});
    settle(now);
    return;
  }
  --counts_.making;
  slots_.erase(slot);
  const bool is_new = failures_ == 0 || failed.since >= last_failure_;
  if (is_new) {
    ++failures_;
    last_failure_ = now;
    refill_from_ = now + next_pause(failures_ - 1);
  }
  if (failed.made_for) {
    const auto waiting = std::ranges::find(queue_, *failed.made_for, &Waiting::claim);
    if (waiting != queue_.end()) {
      queue_.erase(waiting);
      actions_.push_back(Refuse{*failed.made_for, RefuseReason::make_failed});
    }
  } else if (!failed.unwanted) {
    --unbound_makers_;
  }
  settle(now);
}

bool Policy::is_lent_to(SlotId id, ClaimId claim) const {
  const auto slot = slots_.find(id);
  return slot != slots_.end() && slot->second.state == SlotState::lent && slot->second.lease == claim;
}

bool Policy::give_back(SlotId id, ClaimId claim, Time now) {
  const auto slot = slots_.find(id);
  if (!is_lent_to(id, claim)) return false;
  const bool above_limit = counts_.total() - counts_.removing > options_.scale_limit;
  std::optional<RemoveReason> end;
  if (slot->second.dead) {
    end = RemoveReason::died;
  } else if (shutting_down_) {
    end = RemoveReason::shutdown;
  } else if (options_.reuse == Reuse::never || slot->second.ordered) {
    end = RemoveReason::never_reused;
  } else if (slot->second.uses >= options_.max_uses) {
    end = RemoveReason::worn_out;
  } else if (above_limit) {
    end = RemoveReason::surplus;
  }
  if (end) {
    start_removing(slot, *end, now);
  } else {
    change_state(slot->second, SlotState::resetting, now);
    actions_.push_back(Reset{id});
  }
  settle(now);
  return true;
}

bool Policy::destroy(SlotId id, ClaimId claim, Time now) {
  const auto slot = slots_.find(id);
  if (!is_lent_to(id, claim)) return false;
  start_removing(slot, RemoveReason::poisoned, now);
  settle(now);
  return true;
}

void Policy::reset_done(SlotId id, ResetResult result, Time now) {
  const auto slot = slots_.find(id);
  if (slot == slots_.end() || slot->second.state != SlotState::resetting) return;
  if (result == ResetResult::failed) {
    start_removing(slot, RemoveReason::reset_failed, now);
  } else if (shutting_down_) {
    start_removing(slot, RemoveReason::shutdown, now);
  } else {
    change_state(slot->second, SlotState::idle, now);
  }
  settle(now);
}

void Policy::removed(SlotId id, Time now) {
  const auto slot = slots_.find(id);
  if (slot == slots_.end() || slot->second.state != SlotState::removing) return;
  --counts_.removing;
  slots_.erase(slot);
  settle(now);
}

void Policy::died(SlotId id, Time now) {
  const auto slot = slots_.find(id);
  if (slot == slots_.end()) return;
  switch (slot->second.state) {
    case SlotState::idle:
      note_early_death(slot->second, now);
      start_removing(slot, RemoveReason::died, now);
      break;
    case SlotState::resetting: start_removing(slot, RemoveReason::died, now); break;
    // Its holder is about to be notified, and may still ask the kernel for the cause.
    case SlotState::lent: slot->second.dead = true; break;
    case SlotState::making:
    case SlotState::removing: return;
  }
  settle(now);
}

SlotId Policy::adopt(std::optional<std::string> tenant, std::uint32_t uses, Time now) {
  const SlotId id = next_slot_++;
  Slot& slot = slots_[id];
  slot.state = SlotState::idle;
  slot.since = now;
  slot.tenant = std::move(tenant);
  slot.uses = uses;
  if (slot.tenant) ++tenants_[*slot.tenant];
  ++counts_.idle;
  return id;
}

SlotId Policy::adopt_lent(ClaimId claim, std::string tenant, std::uint32_t uses, Time now) {
  const SlotId id = adopt(std::move(tenant), uses, now);
  Slot& slot = slots_.at(id);
  slot.lease = claim;
  slot.term = Term::lasting;
  change_state(slot, SlotState::lent, now);
  return id;
}

void Policy::resize(PoolOptions options, Time now) {
  options_ = options;
  tick(now);
}

void Policy::shut_down(Time now) {
  if (shutting_down_) return;
  shutting_down_ = true;
  for (const Waiting& waiting : queue_) actions_.push_back(Refuse{waiting.claim, RefuseReason::shutting_down});
  queue_.clear();
  unbound_makers_ = 0;
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    if (slot->second.state == SlotState::idle) start_removing(slot, RemoveReason::shutdown, now);
    if (slot->second.state == SlotState::making) {
      if (slot->second.ordered && slot->second.made_for) {
        actions_.push_back(Refuse{*slot->second.made_for, RefuseReason::shutting_down});
      }
      slot->second.unwanted = true;
      slot->second.made_for.reset();
    }
  }
}

void Policy::end_leases(Time now) {
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    if (slot->second.state == SlotState::lent) start_removing(slot, RemoveReason::shutdown, now);
  }
  settle(now);
}

std::size_t Policy::waiting() const {
  const auto is_awaited = [](const auto& entry) { return entry.second.ordered && entry.second.made_for.has_value(); };
  return queue_.size() + static_cast<std::size_t>(std::ranges::count_if(slots_, is_awaited));
}

std::vector<Action> Policy::take_actions() { return std::exchange(actions_, {}); }

std::optional<SlotState> Policy::state(SlotId id) const {
  const auto slot = slots_.find(id);
  return slot == slots_.end() ? std::nullopt : std::optional(slot->second.state);
}

std::uint32_t Policy::uses(SlotId id) const {
  const auto slot = slots_.find(id);
  return slot == slots_.end() ? 0 : slot->second.uses;
}

std::optional<std::string> Policy::tenant(SlotId id) const {
  const auto slot = slots_.find(id);
  return slot == slots_.end() ? std::nullopt : slot->second.tenant;
}

bool Policy::is_unwanted(SlotId id) const {
  const auto slot = slots_.find(id);
  return slot == slots_.end() || slot->second.unwanted;
}

void Policy::settle(Time now) {
  if (shutting_down_) return;
  serve_waiting(now);
  refill(now);
}

void Policy::serve_waiting(Time now) {
  const bool can_do_nothing = counts_.idle == 0 && unbound_makers_ == 0 && !has_room();
  if (queue_.empty() || can_do_nothing) return;
  std::uint32_t coming = counts_.resetting + counts_.removing;
  std::uint32_t returning = counts_.resetting;
  // For each tenant: what is being created, or about to be free, for its claims.
  std::map<std::string, std::uint32_t> promised;
  for (const Waiting& waiting : queue_) promised[waiting.tenant] += waiting.maker.has_value();
  for (const auto& waiting : by_turn()) {
    if (!may_have_more(waiting->tenant)) continue;
    if (waiting->wants == Wants::made_for_it) {
      std::uint32_t& of_tenant = promised[waiting->tenant];
      if (lent_to(waiting->tenant) + of_tenant >= tenant_limit()) continue;
      const Ordering done = order(waiting, coming, now);
      // Its tenant has one more now, so the turns are others.
      if (done == Ordering::begun) return serve_waiting(now);
      if (done == Ordering::waits) ++of_tenant;
      if (done == Ordering::stuck && counts_.making == 0) return;
      continue;
    }
    if (counts_.idle > 0) {
      if (const auto slot = find_usable(waiting->tenant); slot != slots_.end()) {
        promised[waiting->tenant] -= waiting->maker.has_value();
        serve(waiting, slot, now);
        continue;
      }
    }
    if (waiting->maker) continue;
    std::uint32_t& of_tenant = promised[waiting->tenant];
    if (lent_to(waiting->tenant) + of_tenant >= tenant_limit()) continue;
    if (unbound_makers_ > 0) {
      const auto maker = std::ranges::find_if(slots_, [](const auto& entry) {
        return entry.second.state == SlotState::making && !entry.second.made_for && !entry.second.unwanted;
      });
      maker->second.made_for = waiting->claim;
      waiting->maker = maker->first;
      --unbound_makers_;
    } else if (has_room() && is_backing_off(now)) {
      // One that is being made clean will be free; a new one will not be made.
      if (returning == 0) {
        actions_.push_back(Refuse{waiting->claim, RefuseReason::backing_off});
        queue_.erase(waiting);
        continue;
      }
      --returning;
    } else if (has_room()) {
      waiting->maker = start_making(waiting->claim, now);
    } else if (coming > 0) {
      --coming;
    } else if (const auto victim = find_longest_idle_of_a_tenant(); victim != slots_.end()) {
      // Idle, and this claim may not have it: another tenant's.
      start_removing(victim, RemoveReason::evicted, now);
    } else if (counts_.idle == 0) {
      return;  // nothing is left for any claim behind it either
    }
    ++of_tenant;
  }
}

Policy::Ordering Policy::order(Queue::iterator waiting, std::uint32_t& coming, Time now) {
  if (has_room()) {
    if (!is_backing_off(now)) {
      start_order(waiting, now);
      return Ordering::begun;
    }
    actions_.push_back(Refuse{waiting->claim, RefuseReason::backing_off});
    queue_.erase(waiting);
    return Ordering::refused;
  }
  if (coming > 0) {
    --coming;
  } else if (const auto victim = find_least_needed(); victim != slots_.end()) {
    start_removing(victim, RemoveReason::evicted, now);
  } else {
    return Ordering::stuck;
  }
  return Ordering::waits;
}

void Policy::refill(Time now) {
  if (now < refill_from_) return;
  const std::uint32_t have = stock() + unbound_makers_;
  std::uint32_t wanted = options_.pool_size > have ? options_.pool_size - have : 0;
  if (failures_ > 0) wanted = std::min<std::uint32_t>(wanted, counts_.making > 0 ? 0 : 1);
  for (; wanted > 0 && has_room(); --wanted) start_making(std::nullopt, now);
  if (has_one_tenant() || !queue_.empty()) return;
  for (wanted -= std::min(wanted, counts_.removing); wanted > 0; --wanted) {
    const auto victim = find_longest_idle_of_a_tenant();
    if (victim == slots_.end() || now - victim->second.since < settled_after) return;
    start_removing(victim, RemoveReason::evicted, now);
  }
}

bool Policy::is_backing_off(Time now) const {
  return failures_ >= failures_before_backing_off && (now < refill_from_ || counts_.making > 0);
}

// Sandboxes that are created and die before they were of use count as failures of creation.
void Policy::note_early_death(const Slot& slot, Time now) {
  if (slot.uses > 0 || now - slot.since >= early_death) return;
  if (++early_deaths_ < failures_before_backing_off) return;
  refill_from_ = now + next_pause(early_deaths_ - failures_before_backing_off);
}

// Doubled with each failure, and varied by a quarter, so that pools that failed together do not try together.
Time::duration Policy::next_pause(std::uint32_t doublings) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  const auto pause = first_pause_after_failure * (1 << std::min(doublings, most_doublings));
  return pause * (75 + random_ % 51) / 100;
}

void Policy::end_old_leases(Time now) {
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    if (slot->second.state != SlotState::lent || slot->second.term == Term::lasting) continue;
    if (now - slot->second.since >= options_.running_timeout) {
      start_removing(slot, RemoveReason::lent_too_long, now);
    }
  }
}

void Policy::remove_old_idle(Time now) {
  std::vector<Slots::iterator> old;
  std::uint32_t stocked = 0;
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    if (slot->second.state != SlotState::idle) continue;
    const bool is_stock = has_one_tenant() || !slot->second.tenant;
    stocked += is_stock;
    if (now - slot->second.since >= options_.idle_timeout) old.push_back(slot);
  }
  std::uint32_t surplus = stocked > options_.pool_size ? stocked - options_.pool_size : 0;
  const bool one_tenant = has_one_tenant();
  std::ranges::stable_sort(old, {}, [](const Slots::iterator& slot) { return slot->second.since; });
  for (const auto& slot : old) {
    const bool is_stock = one_tenant || !slot->second.tenant;
    if (is_stock && surplus == 0) continue;
    if (is_stock) --surplus;
    start_removing(slot, RemoveReason::idle_too_long, now);
  }
}

void Policy::remove_surplus(Time now) {
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    if (counts_.total() - counts_.removing <= options_.scale_limit) return;
    if (slot->second.state == SlotState::idle) start_removing(slot, RemoveReason::surplus, now);
  }
}

SlotId Policy::start_making(std::optional<ClaimId> made_for, Time now) {
  const SlotId id = next_slot_++;
  Slot& slot = slots_[id];
  slot.since = now;
  slot.made_for = made_for;
  ++counts_.making;
  if (!made_for) ++unbound_makers_;
  actions_.push_back(Make{id, made_for.has_value()});
  return id;
}

void Policy::start_order(Queue::iterator waiting, Time now) {
  const SlotId id = next_slot_++;
  Slot& slot = slots_[id];
  slot.since = now;
  slot.made_for = waiting->claim;
  slot.term = waiting->term;
  slot.ordered = true;
  slot.tenant = waiting->tenant;
  ++tenants_[waiting->tenant];
  ++lent_[waiting->tenant];
  ++counts_.making;
  actions_.push_back(Make{id, true, waiting->claim});
  queue_.erase(waiting);
}

Policy::Slots::iterator Policy::find_order(ClaimId claim) {
  return std::ranges::find_if(slots_, [&](const auto& entry) {
    const Slot& slot = entry.second;
    return slot.state == SlotState::making && slot.ordered && slot.made_for == claim;
  });
}

void Policy::start_removing(Slots::iterator slot, RemoveReason reason, Time now) {
  forget_tenant(slot->second);
  change_state(slot->second, SlotState::removing, now);
  actions_.push_back(Remove{slot->first, reason});
}

void Policy::forget_tenant(const Slot& slot) {
  if (!slot.tenant) return;
  const auto tenant = tenants_.find(*slot.tenant);
  if (--tenant->second == 0) tenants_.erase(tenant);
}

void Policy::serve(Queue::iterator waiting, Slots::iterator slot, Time now) {
  const auto maker = waiting->maker;
  Slot& served = slot->second;
  if (!served.tenant) {
    served.tenant = waiting->tenant;
    ++tenants_[waiting->tenant];
  }
  lend(slot, waiting->claim, waiting->term, now);
  queue_.erase(waiting);
  hand_on(maker);
}

// The slot has its tenant.
void Policy::lend(Slots::iterator slot, ClaimId claim, Term term, Time now) {
  Slot& served = slot->second;
  ++served.uses;
  early_deaths_ = 0;
  served.lease = claim;
  served.term = term;
  change_state(served, SlotState::lent, now);
  actions_.push_back(Serve{claim, slot->first});
  // Long before anything could overflow, the order of service does not matter any more.
  if (last_served_.size() > most_remembered) last_served_.clear();
  last_served_[*served.tenant] = ++served_;
}

void Policy::hand_on(std::optional<SlotId> maker) {
  if (!maker) return;
  Slot& slot = slots_.at(*maker);
  const auto turns = by_turn();
  const auto heir = std::ranges::find_if(turns, [&](const auto& waiting) {
    return !waiting->maker && waiting->wants == Wants::any && may_have_more(waiting->tenant);
  });
  if (heir == turns.end()) {
    slot.made_for.reset();
    ++unbound_makers_;
  } else {
    slot.made_for = (*heir)->claim;
    (*heir)->maker = maker;
  }
}

void Policy::change_state(Slot& slot, SlotState state, Time now) {
  count_lent(slot, state);
  --count_of(slot.state);
  slot.state = state;
  slot.since = now;
  ++count_of(state);
}

void Policy::count_lent(const Slot& slot, SlotState next) {
  const bool is_lent = slot.state == SlotState::lent || (slot.state == SlotState::making && slot.ordered);
  const bool will_be = next == SlotState::lent;
  if (is_lent == will_be) return;
  const auto tenant = lent_.try_emplace(*slot.tenant, 0).first;
  tenant->second += will_be ? 1 : -1;
  if (tenant->second == 0) lent_.erase(tenant);
}

std::uint32_t& Policy::count_of(SlotState state) {
  switch (state) {
    case SlotState::making: return counts_.making;
    case SlotState::idle: return counts_.idle;
    case SlotState::lent: return counts_.lent;
    case SlotState::resetting: return counts_.resetting;
    case SlotState::removing: break;
  }
  return counts_.removing;
}

// The tenant's own first, which leaves the fresh ones to others; of those the last used, so that the rest can grow old.
Policy::Slots::iterator Policy::find_usable(const std::string& tenant) {
  auto best = slots_.end();
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    if (slot->second.state != SlotState::idle) continue;
    if (slot->second.tenant && *slot->second.tenant != tenant) continue;
    const auto rank = [](const Slot& s) { return std::pair(s.tenant.has_value(), s.since); };
    if (best == slots_.end() || rank(slot->second) > rank(best->second)) best = slot;
  }
  return best;
}

Policy::Slots::iterator Policy::find_longest_idle_of_a_tenant() {
  auto longest = slots_.end();
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    if (slot->second.state != SlotState::idle || !slot->second.tenant) continue;
    if (longest == slots_.end() || slot->second.since < longest->second.since) longest = slot;
  }
  return longest;
}

Policy::Slots::iterator Policy::find_least_needed() {
  if (const auto of_a_tenant = find_longest_idle_of_a_tenant(); of_a_tenant != slots_.end()) return of_a_tenant;
  auto longest = slots_.end();
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    if (slot->second.state != SlotState::idle) continue;
    if (longest == slots_.end() || slot->second.since < longest->second.since) longest = slot;
  }
  return longest;
}

// What the next claim finds warm. With several tenants only fresh sandboxes are certain to be usable for it.
std::uint32_t Policy::stock() const {
  if (has_one_tenant()) return counts_.idle + counts_.resetting;
  return static_cast<std::uint32_t>(std::ranges::count_if(
      slots_, [](const auto& entry) { return entry.second.state == SlotState::idle && !entry.second.tenant; }));
}

}  // namespace cloche::pool
