#include "pool/warm_pool.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "core/async/exceptions.hpp"
#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"
#include "pool/fingerprint.hpp"
#include "pool/making.hpp"
#include "sandbox/exec_spec.hpp"
#include "sandbox/volume_targets.hpp"

namespace cloche::pool {

namespace {

// For existing agents of an earlier process: the start of this one waits for them. An idle one is soon replaced; with
// one that is held, its session is lost.
constexpr std::chrono::seconds adopt_patience{5};
constexpr std::chrono::seconds adopt_held_patience{10};
// A runtime is tried before it is known what it can do.
constexpr std::chrono::seconds start_patience{30};

// Root of a sandbox can change the agent, so its proof of a reset would prove nothing. Some backends have no proof.
PoolOptions options_for(const Profile& profile, const Backend& backend) {
  PoolOptions options = profile.pool;
  if (profile.sandbox.root || !backend.can_reset()) options.reuse = Reuse::never;
  return options;
}

}  // namespace

// A claim that waits. Whatever way it leaves, nothing stays behind: its place in the queue is given up, and a sandbox
// that it was served but did not take is given back.
class WarmPool::Waiter {
 public:
  Waiter(WarmPool& pool, ClaimId claim, std::string holder, std::optional<volume::Prepared> order)
      : pool_(pool),
        claim_(claim),
        holder_(std::move(holder)),
        order_(std::move(order)),
        answered_(pool.surroundings_.executor) {
    pool_.waiters_[claim_] = this;
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter() {
    pool_.waiters_.erase(claim_);
    if (slot_) {
      pool_.give_back(*slot_, claim_);
    } else if (!error_) {
      leave();
    }
  }

  void serve(SlotId slot) {
    slot_ = slot;
    answered_.notify();
  }
  void refuse(Error error) {
    error_ = std::move(error);
    answered_.notify();
  }
  void leave() {
    pool_.policy_.cancel(claim_, now());
    pool_.act();
  }

  Task<> wait(Deadline deadline) {
    while (!slot_ && !error_ && !deadline.passed()) co_await answered_.wait(deadline);
  }
  const std::optional<Error>& error() const { return error_; }
  bool is_served() const { return slot_.has_value(); }
  const std::string& holder() const { return holder_; }
  // What its own sandbox is made with.
  volume::Prepared take_order() { return std::exchange(order_, std::nullopt).value_or(volume::Prepared{}); }
  // The caller answers for it from now on.
  SlotId take() { return *std::exchange(slot_, std::nullopt); }

 private:
  WarmPool& pool_;
  ClaimId claim_;
  std::string holder_;
  std::optional<volume::Prepared> order_;
  std::optional<SlotId> slot_;
  std::optional<Error> error_;
  Event answered_;
};

WarmPool::WarmPool(Surroundings surroundings, Profile profile)
    : surroundings_(std::move(surroundings)),
      profile_(std::move(profile)),
      fingerprint_(fingerprint_of(profile_)),
      pool_id_(random_hex(16)),
      policy_(options_for(profile_, surroundings_.backend),
              static_cast<std::uint32_t>(std::hash<std::string>{}(pool_id_))),
      went_(surroundings_.executor),
      tasks_(surroundings_.executor) {}

PoolOptions WarmPool::effective(PoolOptions options) const {
  if (makes_to_order_) options.pool_size = 0;
  return options;
}

Task<> WarmPool::start() {
  const auto self = shared_from_this();
  if (surroundings_.volumes.of_profiles.contains(profile_.name)) {
    SandboxSpec spec = profile_.sandbox;
    auto when = co_await surroundings_.backend.volume_time(std::move(spec), Deadline::after(start_patience));
    makes_to_order_ = when && *when == VolumeTime::at_creation;
    if (makes_to_order_) policy_.resize(effective(policy_.options()), now());
  }
  policy_.tick(now());
  act();
}

Task<> WarmPool::adopt(std::unique_ptr<Enclosure> enclosure, JournalEntry entry) {
  const auto self = shared_from_this();
  const auto patience = std::min<Deadline::Clock::duration>(profile_.sandbox.ready_timeout, adopt_patience);
  auto taken = co_await take_over(std::move(enclosure), profile_.sandbox.limits, Deadline::after(patience));
  if (taken) {
    auto step = []() -> Task<Status> { co_return fallible_point<"pool.recover.adopt">(); };
    taken = co_await keep_if(std::move(*taken), std::move(step));
  }
  if (!taken) {
    log::warn("pool {}: {} of an earlier process was removed: {}", profile_.name, entry.name, taken.error().message);
    note(surroundings_.journal.forget(entry.name), entry.name);
    co_return;
  }
  const SlotId slot = policy_.adopt(entry.tenant, entry.uses, now());
  rooms_[slot].name = entry.name;
  settle_in(slot, std::move(*taken));
}

Task<Result<Lease>> WarmPool::adopt_held(std::unique_ptr<Enclosure> enclosure, JournalEntry entry) {
  const auto self = shared_from_this();
  const auto patience = std::min<Deadline::Clock::duration>(profile_.sandbox.ready_timeout, adopt_held_patience);
  const Deadline ready_by = Deadline::after(patience);
  auto opened = co_await LiveSandbox::open(std::move(enclosure), Greeting::takeover, ready_by);
  Result<std::shared_ptr<LiveSandbox>> taken = fail(ErrorCode::internal, "not opened");
  if (opened) {
    auto step = []() -> Task<Status> { co_return fallible_point<"pool.recover.hold">(); };
    taken = co_await keep_if(std::move(*opened), std::move(step));
  } else {
    taken = fail(std::move(opened).error());
  }
  if (!taken) {
    note(surroundings_.journal.forget(entry.name), entry.name);
    co_return fail(std::move(taken).error());
  }
  const ClaimId claim = next_claim_++;
  const SlotId slot = policy_.adopt_lent(claim, entry.tenant.value_or(""), entry.uses, now());
  rooms_[slot].name = entry.name;
  rooms_[slot].limits_bound = true;  // they may have been
  rooms_[slot].holder = entry.holder;
  if (volume::Volumes* volumes = surroundings_.volumes.volumes) {
    rooms_[slot].volumes = volumes->adopt((*taken)->volumes());
  }
  settle_in(slot, std::move(*taken));
  Binding binding;
  binding.work_dir = profile_.sandbox.work_dir;
  co_return Lease(weak_from_this(), slot, claim, rooms_[slot].sandbox, std::move(binding));
}

Task<Result<Lease>> WarmPool::claim(ClaimOptions options, Deadline deadline) {
  return claim_for(std::move(options), "", deadline, {});
}

Task<Result<Lease>> WarmPool::claim_lasting(ClaimOptions options, std::string holder, Deadline deadline,
                                            std::vector<VolumeMount> volumes) {
  return claim_for(std::move(options), std::move(holder), deadline, std::move(volumes));
}

Task<Result<Lease>> WarmPool::claim_for(ClaimOptions options, std::string holder, Deadline deadline,
                                        std::vector<VolumeMount> volumes) {
  const auto self = shared_from_this();
  auto work = [&] { return claim_unguarded(std::move(options), std::move(holder), deadline, std::move(volumes)); };
  auto claimed = co_await guarded("pool " + profile_.name + ": claim", std::move(work));
  co_return claimed;
}

Task<Result<Lease>> WarmPool::claim_unguarded(ClaimOptions options, std::string holder, Deadline deadline,
                                              std::vector<VolumeMount> volumes) {
  const Time began = now();
  CLOCHE_CO_TRY(Binding binding, binding_of(options));
  CLOCHE_CO_TRY(volumes, all_volumes(std::move(volumes)));
  CLOCHE_CO_CHECK(fallible_point<"pool.claim.before">());
  auto order = co_await prepare_order(volumes, deadline);
  if (!order) co_return fail(refusal_of_binding(std::move(order).error()));
  const bool is_ordered = order->has_value();
  if (is_ordered) volumes.clear();
  const auto term = holder.empty() ? Policy::Term::bounded : Policy::Term::lasting;
  const Deadline wait_until =
      deadline.sooner(Deadline::after(options.wait_timeout.value_or(profile_.pool.wait_timeout)));
  for (;;) {
    const ClaimId id = next_claim_++;
    auto served = co_await wait_for_turn(id, options, holder, wait_until, std::move(*order));
    if (!served) {
      ++counted_.refused;
      co_return fail(std::move(served).error());
    }
    const SlotId slot = *served;
    Lease lease(weak_from_this(), slot, id, rooms_.at(slot).sandbox, binding);
    CLOCHE_CO_CHECK(fallible_point<"pool.claim.served">());
    const bool alive = co_await answers(slot, term);
    // Given back, it must become clean soon or it is removed. Meanwhile the caller gets another one.
    const bool is_usable = alive && rooms_.contains(slot);
    if (!is_usable && is_ordered) {
      co_return fail(ErrorCode::unavailable, "a new sandbox of profile '" + profile_.name + "' did not respond; retry");
    }
    if (!is_usable) continue;
    std::vector<VolumeMount> wanted = volumes;
    auto bound = co_await attach_volumes(slot, id, std::move(wanted), deadline);
    if (bound && !policy_.is_lent_to(slot, id)) bound = fail(ErrorCode::sandbox_lost, "the sandbox was released");
    if (bound) bound = co_await bind(rooms_.at(slot), binding, std::move(options), deadline);
    if (bound && binding.network.network != Network::none) {
      bound = co_await set_network(slot, id, binding.network, deadline);
    }
    // The caller has not had this sandbox yet, and can get another.
    if (!bound && bound.error().code == ErrorCode::sandbox_lost) bound.error().code = ErrorCode::unavailable;
    if (!bound) co_return fail(refusal_of_binding(std::move(bound).error()));
    ++counted_.claims;
    counted_.claim_latency.add(std::chrono::duration_cast<std::chrono::microseconds>(now() - began));
    co_return lease;
  }
}

Task<Result<SlotId>> WarmPool::wait_for_turn(ClaimId id, const ClaimOptions& options, const std::string& holder,
                                             Deadline deadline, std::optional<volume::Prepared> order) {
  const auto term = holder.empty() ? Policy::Term::bounded : Policy::Term::lasting;
  const auto wants = order ? Policy::Wants::made_for_it : Policy::Wants::any;
  Waiter waiter(*this, id, holder, std::move(order));
  policy_.claim(id, options.tenant, options.at_limit.value_or(profile_.pool.at_limit), now(), term, wants);
  fault_point<"pool.claim.queued">();
  act();
  co_await waiter.wait(deadline);
  fault_point<"pool.claim.answered">();
  if (waiter.error()) co_return fail(*waiter.error());
  if (!waiter.is_served()) {
    co_return fail(ErrorCode::timeout,
                   "no sandbox of profile '" + profile_.name + "' became free in time: " + figures());
  }
  co_return waiter.take();
}

Error WarmPool::refusal_of_binding(Error error) const {
  const bool is_callers = error.code == ErrorCode::invalid_argument || error.code == ErrorCode::not_found ||
                          error.code == ErrorCode::limit_reached || error.code == ErrorCode::unsupported;
  // What the caller asked for, and can change: the message needs no step of ours before it.
  if (is_callers) return error;
  if (surroundings_.callers == Callers::trusted) {
    return std::move(error).at("prepare a sandbox of profile '" + profile_.name + "'");
  }
  log::warn("pool {}: claim: {}", profile_.name, error.message);
  error.message = "a sandbox of profile '" + profile_.name + "' could not be prepared; see the server log";
  return error;
}

Result<std::vector<VolumeMount>> WarmPool::all_volumes(std::vector<VolumeMount> claimed) const {
  const auto& of_profiles = surroundings_.volumes.of_profiles;
  if (const auto found = of_profiles.find(profile_.name); found != of_profiles.end()) {
    claimed.insert(claimed.end(), found->second.begin(), found->second.end());
  }
  CLOCHE_CHECK(settle_volume_targets(claimed, profile_.sandbox));
  return claimed;
}

Task<Result<std::optional<volume::Prepared>>> WarmPool::prepare_order(std::vector<VolumeMount> volumes,
                                                                      Deadline deadline) {
  std::optional<volume::Prepared> order;
  if (volumes.empty() || surroundings_.volumes.volumes == nullptr) co_return order;
  SandboxSpec spec = profile_.sandbox;
  auto when = co_await surroundings_.backend.volume_time(std::move(spec), deadline);
  if (!when) {
    log::warn("pool {}: claim: {}", profile_.name, when.error().message);
    co_return fail(refusal_of_making(std::move(when).error(), profile_.name, surroundings_.callers));
  }
  if (*when == VolumeTime::while_running) co_return order;
  CLOCHE_CO_CHECK(check_apart_from_mounts(volumes, profile_.sandbox));
  // Before the claim waits for its turn: a volume that is in use is not the pool's failure.
  CLOCHE_CO_TRY(order, co_await surroundings_.volumes.volumes->prepare(std::move(volumes), deadline));
  co_return order;
}

Task<Status> WarmPool::attach_volumes(SlotId slot, ClaimId claim, std::vector<VolumeMount> volumes, Deadline deadline) {
  if (volumes.empty()) co_return Status{};
  if (surroundings_.volumes.volumes == nullptr) co_return fail(ErrorCode::unsupported, "there are no volumes here");
  auto prepared = co_await surroundings_.volumes.volumes->prepare(std::move(volumes), deadline);
  if (!prepared) co_return fail(std::move(prepared).error());
  if (!policy_.is_lent_to(slot, claim)) co_return fail(ErrorCode::sandbox_lost, "the sandbox was released");
  Room& room = rooms_.at(slot);
  const auto sandbox = room.sandbox;
  // From now on it is not used again; see give_back().
  room.volumes = std::move(prepared->uses);
  co_return co_await sandbox->attach(std::move(prepared->mounted), deadline);
}

bool WarmPool::give_back(SlotId slot, ClaimId claim) {
  if (const auto room = rooms_.find(slot); room != rooms_.end() && !room->second.volumes.empty()) {
    return destroy(slot, claim);
  }
  const bool had_it = policy_.give_back(slot, claim, now());
  act();
  went_.notify();
  return had_it;
}

bool WarmPool::destroy(SlotId slot, ClaimId claim) {
  const bool had_it = policy_.destroy(slot, claim, now());
  // The next user waits for the kernel alone, which keeps each volume until the sandbox is gone.
  if (const auto room = rooms_.find(slot); had_it && room != rooms_.end()) room->second.volumes.clear();
  act();
  went_.notify();
  return had_it;
}

Result<Binding> WarmPool::binding_of(const ClaimOptions& options) const {
  // Every claim comes by here, and so does every session that is found again, whatever route it was made by.
  if (!surroundings_.access.allows(auth::Resource::profile, profile_.name, options.tenant)) {
    return fail(ErrorCode::not_found, "no such profile: '" + profile_.name + "'");
  }
  Binding binding;
  const SandboxSpec& spec = profile_.sandbox;
  CLOCHE_CHECK(validate(options.limits.over(spec.limits)));
  CLOCHE_TRY(Secrets::Values named,
             surroundings_.secrets.of_claim(options.secrets, options.tenant, surroundings_.access));
  CLOCHE_TRY(binding.network, surroundings_.outlets.policy_for(profile_, options));
  CLOCHE_TRY(binding.env, surroundings_.secrets.of_profile(profile_.secrets));
  binding.env.merge(named);
  binding.env.merge(surroundings_.outlets.variables_for(binding.network));
  // Environment that is said plainly wins over secrets, and a claim's over the profile's.
  for (const auto* env : {&profile_.env, &options.env}) {
    for (const auto& [name, value] : *env) binding.env[name] = value;
  }
  CLOCHE_CHECK(validate_environment(binding.env));
  binding.work_dir = options.work_dir.empty() ? spec.work_dir : options.work_dir;
  if (!binding.work_dir.starts_with('/')) binding.work_dir = spec.work_dir + "/" + binding.work_dir;
  if (!is_clean_absolute_path(binding.work_dir)) {
    return fail(ErrorCode::invalid_argument,
                "a work directory must be a path without '..', '.', NUL or empty parts: '" + options.work_dir + "'");
  }
  return binding;
}

Task<Status> WarmPool::bind(Room& room, const Binding& binding, ClaimOptions options, Deadline deadline) {
  const auto sandbox = room.sandbox;
  CLOCHE_CO_CHECK(fallible_point<"pool.bind">());
  if (!options.limits.empty()) {
    room.limits_bound = true;
    const Limits limits = options.limits.over(profile_.sandbox.limits);
    auto limited = co_await sandbox->set_limits(limits);
    if (!limited) co_return limited;
  }
  auto files = sandbox->files();
  if (binding.work_dir != profile_.sandbox.work_dir) {
    FilePath work_dir(binding.work_dir);
    const DirectoryOptions how;
    auto made = co_await files.make_directory(std::move(work_dir), how, deadline);
    if (!made) co_return fail(std::move(made).error());
  }
  for (auto& [path, content] : options.files) {
    FilePath place = path.starts_with('/') ? FilePath(path) : FilePath::beneath(binding.work_dir, path);
    WriteOptions how;
    how.read_only = WriteOptions::ReadOnly::replace;
    auto written = co_await files.write(std::move(place), std::move(content), how, deadline);
    if (!written) co_return fail(std::move(written).error().at(path));
  }
  co_return Status{};
}

Task<Status> WarmPool::set_network(SlotId slot, ClaimId claim, egress::Policy network, Deadline deadline) {
  const auto self = shared_from_this();
  if (!policy_.is_lent_to(slot, claim)) co_return fail(ErrorCode::sandbox_lost, "the sandbox was released");
  Room& room = rooms_.at(slot);
  if (network.network == Network::none) {
    co_await close_outlet(slot);
    co_return Status{};
  }
  if (const std::string* bundle = surroundings_.outlets.trust_bundle_for(network)) {
    auto files = room.sandbox->files();
    FilePath place{std::string(Outlets::trust_path)};
    WriteOptions how;
    how.read_only = WriteOptions::ReadOnly::replace;
    auto written = co_await files.write(std::move(place), *bundle, how, deadline);
    if (!written) co_return fail(std::move(written).error().at("write the trusted certificates"));
    if (!policy_.is_lent_to(slot, claim)) co_return fail(ErrorCode::sandbox_lost, "the sandbox was released");
  }
  if (room.outlet) {
    room.outlet->set_policy(std::move(network));
    co_return Status{};
  }
  Outlets::Place place{policy_.tenant(slot).value_or(""), room.holder.empty() ? room.name : room.holder, room.books};
  const auto outlet = surroundings_.outlets.make(room.sandbox, std::move(place), std::move(network));
  // From now on it is closed when the sandbox is taken back, whether it listens already or not.
  room.outlet = outlet;
  auto listening = co_await outlet->listen(deadline);
  if (!listening && policy_.is_lent_to(slot, claim)) co_await close_outlet(slot);
  co_return listening;
}

Task<> WarmPool::close_outlet(SlotId slot) {
  const auto outlet = std::exchange(rooms_.at(slot).outlet, nullptr);
  if (!outlet) co_return;
  co_await outlet->close();
}

std::shared_ptr<egress::Books> WarmPool::egress_books(SlotId slot, ClaimId claim) const {
  return policy_.is_lent_to(slot, claim) ? rooms_.at(slot).books : nullptr;
}

void WarmPool::act() {
  const auto self = shared_from_this();
  for (auto actions = policy_.take_actions(); !actions.empty(); actions = policy_.take_actions()) {
    for (const Action& action : actions) {
      try {
        carry_out(action);
      } catch (...) {
        give_up(action, std::current_exception());
      }
    }
  }
}

void WarmPool::carry_out(const Action& action) {
  const auto self = shared_from_this();
  if (const auto* serve = std::get_if<Serve>(&action)) {
    on_serve(*serve);
  } else if (const auto* refuse = std::get_if<Refuse>(&action)) {
    on_refuse(*refuse);
  } else if (const auto* to_make = std::get_if<Make>(&action)) {
    begin_making(*to_make);
  } else if (const auto* to_reset = std::get_if<Reset>(&action)) {
    fault_point<"pool.reset.begin">();
    tasks_.spawn("reset sandbox", [self, slot = to_reset->slot] { return self->reset(slot); });
  } else if (const auto* to_remove = std::get_if<Remove>(&action)) {
    // Its first step is guarded, and it continues until it has succeeded.
    tasks_.spawn("remove sandbox", [self, removal = *to_remove] { return self->remove(removal.slot, removal.reason); });
  }
}

void WarmPool::begin_making(const Make& make) {
  const auto urgency = make.urgent ? Urgency::urgent : Urgency::ordinary;
  Room& room = rooms_[make.slot];
  room.name = next_name();
  room.order = make.order;
  if (const auto waiter = make.order ? waiters_.find(*make.order) : waiters_.end(); waiter != waiters_.end()) {
    auto [uses, mounted] = waiter->second->take_order();
    room.volumes = std::move(uses);
    room.mounted = std::move(mounted);
  }
  fault_point<"pool.make.begin">();
  tasks_.spawn("make sandbox",
               [self = shared_from_this(), slot = make.slot, urgency] { return self->make(slot, urgency); });
}

void WarmPool::give_up(const Action& action, const std::exception_ptr& thrown) {
  const Error error = to_error("pool " + profile_.name, thrown);
  const auto refuse = [&](ClaimId claim) {
    const auto waiter = waiters_.find(claim);
    if (waiter != waiters_.end()) waiter->second->refuse(error);
  };
  if (const auto* serve = std::get_if<Serve>(&action)) {
    refuse(serve->claim);
    policy_.destroy(serve->slot, serve->claim, now());
  } else if (const auto* refused = std::get_if<Refuse>(&action)) {
    refuse(refused->claim);
  } else if (const auto* to_make = std::get_if<Make>(&action)) {
    last_make_error_ = error;
    ++counted_.create_failures;
    rooms_.erase(to_make->slot);
    policy_.make_failed(to_make->slot, now());
  } else if (const auto* to_reset = std::get_if<Reset>(&action)) {
    ++counted_.resets_failed;
    policy_.reset_done(to_reset->slot, Policy::ResetResult::failed, now());
  }
}

void WarmPool::on_serve(const Serve& serve) {
  const auto waiter = waiters_.find(serve.claim);
  if (waiter == waiters_.end()) {
    policy_.give_back(serve.slot, serve.claim, now());
    return;
  }
  Room& room = rooms_.at(serve.slot);
  const std::string& name = room.name;
  room.holder = waiter->second->holder();
  const auto written = surroundings_.journal.lend(name, policy_.tenant(serve.slot).value_or(""),
                                                  policy_.uses(serve.slot), waiter->second->holder());
  fault_point<"pool.lent">();
  if (!written) {
    waiter->second->refuse(written.error());
    policy_.destroy(serve.slot, serve.claim, now());
    return;
  }
  waiter->second->serve(serve.slot);
}

void WarmPool::on_refuse(const Refuse& refuse) {
  const auto waiter = waiters_.find(refuse.claim);
  if (waiter == waiters_.end()) return;
  Error error;
  switch (refuse.reason) {
    case RefuseReason::at_limit:
      error = {ErrorCode::limit_reached, "no sandbox of profile '" + profile_.name + "' is free: " + figures() +
                                             "; release one, raise scale_limit, or wait (at_limit: wait)"};
      break;
    case RefuseReason::tenant_limit:
      error = {ErrorCode::limit_reached,
               fmt::format("the tenant has {} sandboxes of profile '{}', which is its tenant_limit; release one",
                           policy_.tenant_limit(), profile_.name)};
      break;
    case RefuseReason::queue_full:
      error = {ErrorCode::limit_reached, "too many claims are waiting for a sandbox of profile '" + profile_.name +
                                             "': " + figures() +
                                             fmt::format(", max_waiting {}", policy_.options().max_waiting)};
      break;
    case RefuseReason::shutting_down:
      error = {ErrorCode::unavailable, "the pool of profile '" + profile_.name + "' is shut down"};
      break;
    case RefuseReason::make_failed:
      error = refusal_of_making(last_make_error_, profile_.name, surroundings_.callers);
      break;
    case RefuseReason::backing_off:
      error = refusal_of_making(last_make_error_, profile_.name, surroundings_.callers);
      error.message += fmt::format(" (retrying in {} s)", seconds_until(policy_.tries_again_at()));
      break;
  }
  waiter->second->refuse(std::move(error));
}

std::string WarmPool::figures() const {
  const Counts& counts = policy_.counts();
  return fmt::format("{} of {} in use, {} idle, {} waiting (pool_size {}, scale_limit {})", counts.lent, counts.total(),
                     counts.idle, policy_.waiting(), policy_.options().pool_size, policy_.options().scale_limit);
}

void WarmPool::note(Status written, const std::string& name) const {
  if (!written) log::error("pool {}: {}: {}", profile_.name, name, written.error().message);
}

}  // namespace cloche::pool
