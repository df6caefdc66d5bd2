#include "pool/manager.hpp"

#include <algorithm>

#include "core/async/guarded.hpp"
#include "core/async/shielded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "core/log_repeats.hpp"
#include "pool/options.hpp"

namespace cloche::pool {

namespace {

constexpr std::chrono::seconds check_interval{1};
// For everything that shutdown still has to remove after the leases have ended.
constexpr std::chrono::seconds removal_patience{30};
// For one sandbox of an earlier process: the start waits for it. After that the removal is retried in the background.
constexpr std::chrono::seconds destroy_patience{5};
// A sandbox that resists holds up none but others that do.
constexpr std::uint32_t removals_again = 1;
// An engine that is started at the same time as this process may take that long to answer.
constexpr std::chrono::seconds engine_patience{10};

// Names come from requests, and may be anything.
std::string shown(std::string name) {
  constexpr std::size_t most = 64;
  if (name.size() > most) name = name.substr(0, most) + "...";
  std::ranges::replace_if(name, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return name;
}

std::unexpected<Error> no_pool(const std::string& name, const std::string& there_are) {
  return fail(ErrorCode::not_found, "no pool for '" + shown(name) + "'; known pools: " + there_are);
}

// All that decides whether a sandbox can be made at all.
bool asks_for_the_same(const SandboxSpec& one, const SandboxSpec& other) {
  const auto same_mount = [](const Mount& a, const Mount& b) {
    return a.source == b.source && a.target == b.target && a.access == b.access;
  };
  return one.runtime == other.runtime && one.image == other.image &&
         std::ranges::equal(one.mounts, other.mounts, same_mount);
}

// Whether some tenant that may use the profile may choose a network; see Outlets::policy_for. Trusted callers say it in
// the profile, so that only those who choose networks pay for it.
bool is_network_chosen(const auth::AccessTable& access, const Profile& profile) {
  if (access.is_trusting() || !profile.sandbox.gpus.empty()) return false;
  const auto& choosers = access.lists_of(auth::Resource::network);
  const auto& users = access.lists_of(auth::Resource::profile);
  const auto chooser = choosers.find(auth::own_network);
  const auto user = users.find(profile.name);
  if (chooser == choosers.end() || user == users.end()) return false;
  const auth::AccessList& one = chooser->second;
  const auth::AccessList& other = user->second;
  if (one.is_all()) return other.is_all() || !other.tenants().empty();
  return std::ranges::any_of(one.tenants(), [&](const std::string& tenant) { return other.allows(tenant); });
}

}  // namespace

Result<std::unique_ptr<Manager>> Manager::create(Executor executor, Backend& backend, std::unique_ptr<Journal> journal,
                                                 ManagerOptions options, Tenancy tenancy) {
  std::map<std::string, int> names;
  const Secrets secrets(options.secrets);
  for (const Profile& profile : options.profiles) {
    CLOCHE_CHECK(validate(profile));
    if (auto known = secrets.check(profile.secrets); !known) {
      return fail(ErrorCode::invalid_argument,
                  "profile '" + profile.name + "': " + known.error().message +
                      "; add it to `secrets`, for example as {env: NAME} for an environment variable");
    }
    if (names[profile.name]++ > 0) {
      return fail(ErrorCode::already_exists, "duplicate profile name '" + profile.name + "'");
    }
  }
  for (const auto& [alias, name] : options.aliases) {
    if (!names.contains(name)) {
      return fail(ErrorCode::not_found,
                  "the alias '" + alias + "' names the profile '" + name + "', which does not exist");
    }
  }
  // Sandboxes that may get a way out are made with what it needs.
  for (Profile& profile : options.profiles) {
    const bool has_network = profile.network.mode != Network::none;
    if (has_network || is_network_chosen(tenancy.access, profile)) profile.sandbox.egress = true;
  }
  std::unique_ptr<Manager> manager(
      new Manager(executor, backend, std::move(journal), std::move(options), std::move(tenancy)));
  CLOCHE_TRY(manager->outlets_, Outlets::create(std::move(executor), manager->options_, manager->tenancy_.access,
                                                manager->tenancy_.meters));
  manager->make_pools();
  return manager;
}

Manager::Manager(Executor executor, Backend& backend, std::unique_ptr<Journal> journal, ManagerOptions options,
                 Tenancy tenancy)
    : executor_(executor),
      backend_(backend),
      journal_(std::move(journal)),
      options_(std::move(options)),
      tenancy_(std::move(tenancy)),
      secrets_(options_.secrets),
      making_(executor, options_.max_making),
      removing_(executor, options_.max_removing),
      removing_again_(executor, removals_again),
      ended_(executor),
      tasks_(executor) {}

void Manager::make_pools() {
  for (const Profile& profile : options_.profiles) {
    Surroundings surroundings{executor_,        backend_,        *journal_, secrets_,        tenancy_.access,
                              *outlets_,        making_,         removing_, removing_again_, options_.name_prefix,
                              options_.callers, tenancy_.volumes};
    pools_[profile.name] = std::make_shared<WarmPool>(std::move(surroundings), profile);
  }
}

Manager::~Manager() = default;

Task<Status> Manager::start(Deadline deadline) {
  if (phase_ != Phase::made) co_return fail(ErrorCode::already_exists, "the pools are already started");
  auto recovered = co_await recover(deadline);
  if (!recovered) co_return fail(std::move(recovered).error().at("start pools"));
  phase_ = Phase::running;
  for (const auto& [name, pool] : pools_) co_await pool->start();
  tasks_.spawn("monitor", [this] { return monitor(); });
  tasks_.spawn("retry removals", [this] { return retry_removals(); });
  co_return Status{};
}

Task<Status> Manager::wait_for_engine(Deadline deadline) {
  const Deadline latest = Deadline::after(engine_patience).sooner(deadline);
  for (;;) {
    auto reached = co_await backend_.reach(latest);
    // A key that is missing or wrong does not become right.
    const bool can_pass =
        !reached && (reached.error().code == ErrorCode::unavailable || reached.error().code == ErrorCode::timeout);
    if (!can_pass || latest.passed()) co_return reached;
    log::warn("{}; retrying", reached.error().message);
    co_await pause_for(check_interval);
  }
}

Task<Status> Manager::prove(Deadline deadline) {
  auto reached = co_await wait_for_engine(deadline);
  if (!reached) co_return reached;
  std::vector<const Profile*> proved;
  for (const Profile& profile : options_.profiles) {
    const auto is_alike = [&](const Profile* other) { return asks_for_the_same(other->sandbox, profile.sandbox); };
    if (std::ranges::any_of(proved, is_alike)) continue;
    proved.push_back(&profile);
    SandboxSpec spec = profile.sandbox;
    auto possible = co_await backend_.prove(std::move(spec), deadline);
    if (possible) continue;
    Error why = std::move(possible).error().at("no sandbox of profile '" + profile.name + "' can be created");
    if (why.code != ErrorCode::unavailable) why.code = ErrorCode::unsupported;  // on this host, as it is
    co_return fail(std::move(why));
  }
  co_return Status{};
}

Task<Status> Manager::recover(Deadline deadline) {
  CLOCHE_CO_TRY(const auto entries, journal_->entries());
  auto found = co_await backend_.recover(deadline);
  if (!found) co_return fail(std::move(found).error());
  std::map<std::string, JournalEntry> by_name;
  for (const JournalEntry& entry : entries) by_name[entry.name] = entry;
  TaskGroup meetings(executor_);
  for (auto& enclosure : *found) {
    const auto entry = by_name.extract(enclosure->spec().name);
    auto shared = std::make_shared<std::unique_ptr<Enclosure>>(std::move(enclosure));
    std::optional<JournalEntry> known;
    if (entry) known = entry.mapped();
    meetings.spawn("recover sandbox", [this, shared, known] { return meet_or_destroy(std::move(*shared), known); });
  }
  co_await meetings.join();
  // The backend has removed what was half made or half gone. Others may be of a version that had no owner ids.
  std::vector<std::string> unmet;
  for (const auto& [name, entry] : by_name) unmet.push_back(name);
  if (!unmet.empty()) {
    auto removed = co_await backend_.remove_former(std::move(unmet), deadline);
    if (!removed) {
      // The journal keeps their names, so that the next start finds them.
      log::error("what an older version left could not be removed: {}", removed.error().message);
      co_return Status{};
    }
  }
  for (const auto& [name, entry] : by_name) CLOCHE_CO_CHECK(journal_->forget(name));
  co_return Status{};
}

// A sandbox that was idle is clean, and stays in its pool if it still fits the profile. One that was held continues
// unchanged. All others have lost their owner or their history and are removed.
Task<Status> Manager::meet_again(std::unique_ptr<Enclosure>& enclosure, const JournalEntry* entry) {
  CLOCHE_CO_CHECK(fallible_point<"pool.recover.begin">());
  if (entry != nullptr && entry->state == JournalState::idle) {
    const auto pool = pools_.find(entry->profile);
    if (pool != pools_.end() && pool->second->fingerprint() == entry->fingerprint) {
      co_await pool->second->adopt(std::move(enclosure), *entry);
      fault_point<"pool.recover.adopted">();
      co_return Status{};
    }
  }
  if (entry != nullptr && entry->state == JournalState::lent && !entry->holder.empty()) {
    if (const auto pool = pools_.find(entry->profile); pool != pools_.end()) {
      auto lease = co_await pool->second->adopt_held(std::move(enclosure), *entry);
      if (lease) {
        held_.emplace(entry->holder, std::move(*lease));
      } else {
        log::warn("the sandbox of {} was lost: {}", entry->holder, lease.error().message);
      }
      co_return Status{};
    }
  }
  log::info("sandbox {} ({}) was left by an earlier process and is removed", enclosure->spec().name,
            enclosure->id().value);
  co_await destroy_left(std::exchange(enclosure, nullptr));
  co_return Status{};
}

Task<> Manager::meet_or_destroy(std::unique_ptr<Enclosure> enclosure, std::optional<JournalEntry> entry) {
  const Gate::Pass pass = co_await removing_.enter(Urgency::ordinary);
  const std::string what = "recover sandbox " + enclosure->spec().name;
  auto work = [&] { return meet_again(enclosure, entry ? &*entry : nullptr); };
  auto met = co_await attempted(what, std::move(work));
  if (met || !enclosure) co_return;
  log::error("{}: {}; it is removed", what, met.error().message);
  co_await destroy_left(std::move(enclosure));
}

// A sandbox that cannot be destroyed is retried by the backend, and its journal entry is removed by the next start.
Task<> Manager::destroy_left(std::unique_ptr<Enclosure> enclosure) {
  const std::string name = enclosure->spec().name;
  auto work = [&]() -> Task<Status> {
    CLOCHE_CO_CHECK(co_await enclosure->destroy(Deadline::after(destroy_patience)));
    fault_point<"pool.recover.removed">();
    co_return journal_->forget(name);
  };
  auto gone = co_await attempted("destroy " + name, std::move(work));
  if (!gone) log::error("sandbox {}: {}", name, gone.error().message);
}

Task<> Manager::monitor() {
  for (;;) {
    co_await pause_for(check_interval);
    for (const auto& [name, pool] : pools_) {
      // One that cannot be looked after now must not cost the others, nor its own next look.
      try {
        fault_point<"pool.monitor">();
        pool->watch();
      } catch (...) {
        [[maybe_unused]] const Error logged = to_error("monitor of pool " + name, std::current_exception());
      }
    }
    log::report_repeated();
  }
}

Task<> Manager::retry_removals() {
  for (;;) {
    co_await pause_for(check_interval);
    auto work = [this]() -> Task<Status> {
      co_await backend_.retry_removals();
      co_return Status{};
    };
    [[maybe_unused]] auto tried = co_await guarded("retry removals", std::move(work));
  }
}

std::vector<Unremoved> Manager::unremoved() const {
  std::vector<Unremoved> all = backend_.unremoved();
  for (const auto& [name, pool] : pools_) {
    for (Unremoved& each : pool->unremoved()) all.push_back(std::move(each));
  }
  return all;
}

Result<std::shared_ptr<WarmPool>> Manager::find(const std::string& name) const {
  const auto pool = pools_.find(profile_of(name));
  if (pool != pools_.end()) return pool->second;
  std::string all;
  for (const auto& [profile, _] : pools_) all += (all.empty() ? "" : ", ") + profile;
  for (const auto& [alias, profile] : options_.aliases) all += ", " + alias + " (" + profile + ")";
  return no_pool(name, all.empty() ? "none" : all);
}

Result<std::shared_ptr<WarmPool>> Manager::find_for(const std::string& tenant, const std::string& name) const {
  std::vector<std::string> candidates{profile_of(name)};
  if (const auto more = tenancy_.fallbacks.find(name); more != tenancy_.fallbacks.end()) {
    candidates.insert(candidates.end(), more->second.begin(), more->second.end());
  }
  for (const std::string& profile : candidates) {
    const auto pool = pools_.find(profile);
    if (pool != pools_.end() && tenancy_.access.allows(auth::Resource::profile, profile, tenant)) return pool->second;
  }
  return no_pool(name, names_for(tenant));
}

std::vector<VolumeMount> Manager::volumes_of(const std::string& profile) const {
  const auto found = tenancy_.volumes.of_profiles.find(profile);
  return found == tenancy_.volumes.of_profiles.end() ? std::vector<VolumeMount>() : found->second;
}

// The profile of a name, whether it exists or not.
const std::string& Manager::profile_of(const std::string& name) const {
  const auto alias = options_.aliases.find(name);
  return alias == options_.aliases.end() ? name : alias->second;
}

std::string Manager::names_for(const std::string& tenant) const {
  std::string all;
  for (const auto& [name, pool] : pools_) {
    if (tenancy_.access.allows(auth::Resource::profile, name, tenant)) all += (all.empty() ? "" : ", ") + name;
  }
  return all.empty() ? "none" : all;
}

Task<Result<Lease>> Manager::acquire(std::string name, ClaimOptions options, Deadline deadline) {
  CLOCHE_CO_TRY(const auto pool, find_for(options.tenant, name));
  if (phase_ == Phase::made) co_return fail(ErrorCode::unavailable, "the pools are not started yet");
  auto lease = co_await pool->claim(std::move(options), deadline);
  co_return lease;
}

std::map<std::string, PoolStats> Manager::stats() const {
  std::map<std::string, PoolStats> all;
  for (const auto& [name, pool] : pools_) all[name] = pool->stats();
  return all;
}

Task<Status> Manager::shut_down() {
  if (phase_ != Phase::ending && phase_ != Phase::ended) {
    phase_ = Phase::ending;
    auto work = [this] { return end(); };
    auto result = co_await shielded(std::move(work));
    ended_with_ = std::move(result);
    phase_ = Phase::ended;
    ended_.notify();
  }
  while (phase_ != Phase::ended) co_await ended_.wait();
  co_return ended_with_;
}

void Manager::hasten() {
  for (const auto& [name, pool] : pools_) pool->hasten();
}

Task<Status> Manager::end() {
  co_await tasks_.shut_down();
  for (const auto& [name, pool] : pools_) pool->close();
  const Deadline drained = Deadline::after(options_.drain_timeout);
  for (const auto& [name, pool] : pools_) co_await pool->wait_until_unlent(drained);
  for (const auto& [name, pool] : pools_) pool->end_leases();
  const Deadline removed = Deadline::after(removal_patience);
  for (const auto& [name, pool] : pools_) co_await pool->wait_until_empty(removed);
  std::size_t left = 0;
  for (const auto& [name, pool] : pools_) {
    const std::size_t abandoned = co_await pool->abandon();
    left += abandoned;
  }
  if (left > 0) {
    co_return fail(ErrorCode::timeout, "shutdown: " + std::to_string(left) +
                                           " sandboxes could not be removed in time; the next start removes them");
  }
  co_return Status{};
}

}  // namespace cloche::pool
