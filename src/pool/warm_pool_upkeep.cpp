// A pool between claims: its monitor, its figures, its shutdown.
#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "pool/options.hpp"
#include "pool/warm_pool.hpp"

namespace cloche::pool {

namespace {

constexpr std::chrono::seconds ping_patience{5};
// At a claim: a living agent responds within a millisecond, on a busy machine within a few.
constexpr std::chrono::seconds claim_patience{1};
constexpr std::chrono::seconds heard_of_lately{1};

}  // namespace

void WarmPool::look_at_idle(Deadline::Clock::duration unheard_for) {
  const Time time = now();
  for (auto& [slot, room] : rooms_) {
    if (room.being_looked_at || policy_.state(slot) != SlotState::idle) continue;
    if (time - room.looked_at < unheard_for) continue;
    room.being_looked_at = true;
    tasks_.spawn("look at sandbox", [self = shared_from_this(), id = slot] { return self->look_at(id); });
  }
}

Task<bool> WarmPool::answers(SlotId slot, Policy::Term term) {
  const Time heard_at = rooms_.at(slot).looked_at;
  if (term == Policy::Term::bounded && now() - heard_at < heard_of_lately) co_return true;
  const auto sandbox = rooms_.at(slot).sandbox;
  auto alive = co_await sandbox->ping(Deadline::after(claim_patience));
  if (alive) {
    if (const auto room = rooms_.find(slot); room != rooms_.end()) room->second.looked_at = now();
    co_return true;
  }
  log::warn("pool {}: {} did not respond when it was claimed: {}", profile_.name, sandbox->spec().name,
            alive.error().message);
  ++counted_.unanswered;
  look_at_idle(heard_of_lately);
  co_return false;
}

void WarmPool::watch() {
  policy_.tick(now());
  act();
  look_at_idle(profile_.pool.health_interval);
  const auto wanted = policy_.counts().lent + policy_.waiting();
  if (const auto load = load_.update(wanted, policy_.options().scale_limit)) {
    switch (*load) {
      case Load::high: log::warn("pool {}: high load: {}", profile_.name, figures()); break;
      case Load::moderate: log::warn("pool {}: moderate load: {}", profile_.name, figures()); break;
      case Load::normal: log::info("pool {}: normal load again: {}", profile_.name, figures()); break;
    }
  }
}

// It may be leased meanwhile: the agent responds concurrently.
Task<> WarmPool::look_at(SlotId slot) {
  const auto sandbox = rooms_.at(slot).sandbox;
  auto work = [&sandbox]() -> Task<Status> {
    CLOCHE_CO_CHECK(fallible_point<"pool.look">());
    co_return co_await sandbox->ping(Deadline::after(ping_patience));
  };
  auto alive = co_await guarded("pool " + profile_.name + ": look at " + sandbox->spec().name, std::move(work));
  const auto room = rooms_.find(slot);
  if (room == rooms_.end()) co_return;
  room->second.being_looked_at = false;
  room->second.looked_at = now();
  if (!alive && !sandbox->lost()) on_death(slot);
}

std::vector<Unremoved> WarmPool::unremoved() const {
  std::vector<Unremoved> all;
  for (const auto& [slot, room] : rooms_) {
    if (room.unremoved) all.push_back(*room.unremoved);
  }
  return all;
}

PoolStats WarmPool::stats() const {
  PoolStats stats = counted_;
  const Counts& counts = policy_.counts();
  stats.idle = counts.idle;
  stats.active = counts.lent;
  stats.total = counts.total();
  stats.pool_size = policy_.options().pool_size;
  stats.scale_limit = policy_.options().scale_limit;
  stats.utilization = stats.total == 0 ? 0 : 100.0 * stats.active / stats.total;
  stats.making = counts.making;
  stats.resetting = counts.resetting;
  stats.removing = counts.removing;
  stats.waiting = static_cast<std::uint32_t>(policy_.waiting());
  return stats;
}

Status WarmPool::resize(PoolOptions options) {
  CLOCHE_CHECK(validate(options));
  profile_.pool = options;
  policy_.resize(effective(options), now());
  act();
  return {};
}

void WarmPool::close() {
  policy_.shut_down(now());
  act();
}

void WarmPool::end_leases() {
  policy_.end_leases(now());
  act();
}

Task<> WarmPool::wait_until_unlent(Deadline deadline) {
  const auto self = shared_from_this();
  while (policy_.counts().lent > 0 && !hastened_ && !deadline.passed()) co_await went_.wait(deadline);
}

void WarmPool::hasten() {
  hastened_ = true;
  went_.notify();
}

Task<> WarmPool::wait_until_empty(Deadline deadline) {
  const auto self = shared_from_this();
  while (policy_.counts().total() > 0 && !deadline.passed()) co_await went_.wait(deadline);
}

Task<std::size_t> WarmPool::abandon() {
  const auto self = shared_from_this();
  co_await tasks_.shut_down();
  co_return policy_.counts().total();
}

}  // namespace cloche::pool
