// The sandboxes of a pool, each in a slot: created, reset, removed.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "pool/making.hpp"
#include "pool/warm_pool.hpp"

namespace cloche::pool {

namespace {

// Beyond the time the agent has to say that it is ready: unpacking an image, a slow engine, imports of a zygote.
constexpr std::chrono::seconds make_patience{120};
constexpr std::chrono::seconds destroy_patience{30};
constexpr std::chrono::seconds retry_patience{5};
constexpr std::chrono::seconds longest_pause_between_removals{60};

}  // namespace

Task<> WarmPool::make(SlotId slot, Urgency urgency) {
  const std::string name = rooms_.at(slot).name;
  // Whatever fails, throws or is cancelled on the way has been taken back.
  auto work = [this, slot, name, urgency] { return make_named(slot, name, urgency); };
  auto made = co_await attempted("pool " + profile_.name + ": make " + name, std::move(work));
  if (!made) note(surroundings_.journal.forget(name), name);
  if (made) {
    ++counted_.created;
    settle_in(slot, std::move(*made));
    policy_.made(slot, now());
  } else {
    const bool counts = !policy_.is_unwanted(slot);
    const bool is_ordered = rooms_.at(slot).order.has_value();
    last_make_error_ = made.error();
    rooms_.erase(slot);
    policy_.make_failed(slot, now());
    if (counts) ++counted_.create_failures;
    if (counts && is_ordered) {
      log::error("pool {}: cannot create a sandbox with volumes: {}", profile_.name, last_make_error_.message);
    } else if (counts) {
      log::error("pool {}: cannot create a sandbox (next attempt in {} s): {}", profile_.name,
                 seconds_until(policy_.tries_again_at()), last_make_error_.message);
    }
  }
  act();
  went_.notify();
}

Task<Result<std::shared_ptr<LiveSandbox>>> WarmPool::make_named(SlotId slot, std::string name, Urgency urgency) {
  const Gate::Pass pass = co_await surroundings_.making.enter(urgency);
  if (policy_.is_unwanted(slot)) co_return fail(ErrorCode::cancelled, "the sandbox is no longer wanted");
  JournalEntry entry;
  entry.name = name;
  entry.profile = profile_.name;
  entry.fingerprint = fingerprint_;
  fault_point<"pool.make.before">();
  CLOCHE_CO_CHECK(surroundings_.journal.begin(entry));
  fault_point<"pool.make.journalled">();
  SandboxSpec spec = spec_for(name);
  const Deadline deadline = Deadline::after(make_patience + spec.ready_timeout);
  auto volumes = std::exchange(rooms_.at(slot).mounted, {});
  const bool is_ordered = rooms_.at(slot).order.has_value();
  if (is_ordered && volumes.empty()) co_return fail(ErrorCode::internal, "a sandbox has lost its volumes");
  auto made = co_await make_sandbox(surroundings_.backend, std::move(spec), profile_, deadline, std::move(volumes));
  if (!made) co_return made;
  auto step = [this, name, is_ordered]() -> Task<Status> {
    fault_point<"pool.make.made">();
    // It is never idle: if this process ends now, the next one removes it.
    if (is_ordered) co_return Status{};
    CLOCHE_CO_CHECK(surroundings_.journal.set_state(name, JournalState::idle));
    fault_point<"pool.make.idle">();
    co_return Status{};
  };
  auto kept = co_await keep_if(std::move(*made), std::move(step));
  co_return kept;
}

void WarmPool::settle_in(SlotId slot, std::shared_ptr<LiveSandbox> sandbox) {
  Room& room = rooms_.at(slot);
  room.sandbox = std::move(sandbox);
  room.looked_at = now();
  room.sandbox->on_lost([weak = weak_from_this(), slot] {
    if (const auto pool = weak.lock()) pool->on_death(slot);
  });
}

void WarmPool::on_death(SlotId slot) {
  const auto room = rooms_.find(slot);
  const auto state = policy_.state(slot);
  if (room == rooms_.end() || !state || *state == SlotState::removing) return;
  ++counted_.lost;
  const auto why = room->second.sandbox->lost();
  log::warn("pool {}: {} died: {}", profile_.name, room->second.name, why ? why->message : "it does not respond");
  policy_.died(slot, now());
  act();
}

Task<> WarmPool::reset(SlotId slot) {
  const std::string name = rooms_.at(slot).name;
  const auto sandbox = rooms_.at(slot).sandbox;
  const bool limits_bound = rooms_.at(slot).limits_bound;
  auto work = [this, slot, &sandbox, limits_bound]() -> Task<Status> {
    rooms_.at(slot).books.reset();
    co_await close_outlet(slot);
    co_return co_await make_clean(*sandbox, limits_bound);
  };
  auto clean = co_await attempted("pool " + profile_.name + ": reset " + name, std::move(work));
  if (policy_.state(slot) != SlotState::resetting) co_return;  // it died, and is on its way out
  if (clean) clean = surroundings_.journal.set_state(name, JournalState::idle);
  ++counted_.resets;
  if (clean) {
    rooms_.at(slot).limits_bound = false;
    rooms_.at(slot).looked_at = now();
  } else {
    ++counted_.resets_failed;
    log::warn("pool {}: {} is not reused: {}", profile_.name, name, clean.error().message);
  }
  policy_.reset_done(slot, clean ? Policy::ResetResult::clean : Policy::ResetResult::failed, now());
  act();
}

Task<Status> WarmPool::make_clean(LiveSandbox& sandbox, bool limits_bound) {
  const Deadline deadline = Deadline::after(profile_.pool.reset_timeout);
  CLOCHE_CO_CHECK(fallible_point<"pool.reset.before">());
  auto clean = co_await sandbox.reset(deadline);
  if (!clean) co_return fail(std::move(clean).error());
  fault_point<"pool.reset.done">();
  if (limits_bound) {
    // After the reset, when nothing is left that uses more than the old limits allow.
    auto limited = co_await sandbox.set_limits(profile_.sandbox.limits);
    if (!limited) co_return limited;
  }
  if (deadline.passed()) co_return fail(ErrorCode::timeout, "the reset took too long");
  co_return Status{};
}

Task<> WarmPool::remove(SlotId slot, RemoveReason reason) {
  const std::string name = rooms_.at(slot).name;
  const auto sandbox = rooms_.at(slot).sandbox;
  log::debug("pool {}: {} is removed: {}", profile_.name, name, to_string(reason));
  if (reason == RemoveReason::lent_too_long) {
    ++counted_.revoked;
    log::warn("pool {}: {} was in use for longer than running_timeout", profile_.name, name);
  }
  // The next user of a volume waits for the kernel alone.
  rooms_.at(slot).volumes.clear();
  sandbox->cut_off({ErrorCode::sandbox_lost, "the sandbox was revoked: " + std::string(to_string(reason))});
  auto closing = [this, slot]() -> Task<Status> {
    co_await close_outlet(slot);
    co_return Status{};
  };
  auto closed = co_await attempted("pool " + profile_.name + ": close the way out of " + name, std::move(closing));
  if (!closed) log::error("pool {}: {}: {}", profile_.name, name, closed.error().message);
  std::uint32_t tries = 0;
  for (std::chrono::seconds pause{1};; pause = std::min(pause * 2, longest_pause_between_removals)) {
    auto work = [&] { return try_to_remove(name, sandbox, tries); };
    auto gone = co_await attempted("pool " + profile_.name + ": remove " + name, std::move(work));
    if (gone) break;
    if (gone.error().code == ErrorCode::cancelled) co_return;  // it is left to the next start
    log::error("pool {}: cannot remove {}; retrying: {}", profile_.name, name, gone.error().message);
    const Time since = tries == 0 ? now() : rooms_.at(slot).unremoved->since;
    rooms_.at(slot).unremoved = Unremoved{name, gone.error().message, ++tries, since};
    co_await pause_for(pause);
  }
  rooms_.erase(slot);
  ++counted_.destroyed;
  policy_.removed(slot, now());
  act();
  went_.notify();
}

Task<Status> WarmPool::try_to_remove(std::string name, std::shared_ptr<LiveSandbox> sandbox, std::uint32_t tries) {
  note(surroundings_.journal.set_state(name, JournalState::removing), name);
  fault_point<"pool.remove.journalled">();
  const bool is_first = tries == 0;
  Gate& gate = is_first ? surroundings_.removing : surroundings_.removing_again;
  const Gate::Pass pass = co_await gate.enter(Urgency::ordinary);
  CLOCHE_CO_CHECK(fallible_point<"pool.remove.destroy">());
  auto gone = co_await sandbox->destroy(Deadline::after(is_first ? destroy_patience : retry_patience));
  if (!gone) co_return gone;
  fault_point<"pool.remove.gone">();
  note(surroundings_.journal.forget(name), name);
  co_return Status{};
}

SandboxSpec WarmPool::spec_for(const std::string& name) const {
  SandboxSpec spec = profile_.sandbox;
  spec.name = name;
  spec.labels["pool.profile"] = profile_.name;
  spec.labels["pool.id"] = pool_id_;
  spec.labels["pool.fingerprint"] = fingerprint_;
  spec.labels["pool.version"] = CLOCHE_VERSION;
  spec.labels["pool.created"] = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  return spec;
}

std::string WarmPool::next_name() {
  return fmt::format("{}-{}-{}-{:04}", surroundings_.name_prefix, profile_.name, pool_id_.substr(0, 8), ++sequence_);
}

}  // namespace cloche::pool
