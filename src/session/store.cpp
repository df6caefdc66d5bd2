#include "session/store.hpp"

#include "auth/names.hpp"
#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "session/limit_ceiling.hpp"
#include "session/notes.hpp"
#include "session/runs/runs.hpp"

namespace cloche::session {

namespace {

constexpr std::chrono::seconds check_interval{1};
// To open the way out of a sandbox that was found again.
constexpr std::chrono::seconds network_timeout{10};
// Until calls are accepted although not all runs of an earlier process are counted yet.
constexpr std::chrono::seconds counting_timeout{5};

std::string holder_of(const SessionKey& key) { return key.tenant + "/" + key.id; }

ClaimOptions claim_for(const SessionKey& key, const SessionOptions& options) {
  ClaimOptions claim;
  claim.tenant = key.tenant;
  claim.env = options.env;
  claim.secrets = options.secrets;
  claim.limits = options.limits;
  claim.network = options.network;
  return claim;
}

Error ending_error(const SessionKey& key) {
  return {ErrorCode::ending, name_of(key) + " is being ended; retry in a moment to get a new one"};
}

Error lost_error(const Session& session, const std::string& why) {
  return {ErrorCode::sandbox_lost,
          name_of(session.key()) + " was lost: " + why + "; end the session or create it again"};
}

}  // namespace

// The place of a session that is being created; released by the destructor.
class SessionStore::MakingPlace {
 public:
  MakingPlace(SessionStore& store, SessionKey key) : store_(store), key_(std::move(key)) {
    store_.making_.emplace(key_, std::make_shared<Making>(store_.executor_));
  }
  MakingPlace(const MakingPlace&) = delete;
  MakingPlace& operator=(const MakingPlace&) = delete;
  ~MakingPlace() {
    if (!made_) store_.forget(key_);
    const auto making = store_.making_.extract(key_);
    making.mapped()->ended.notify();
  }
  void succeed() { made_ = true; }

 private:
  SessionStore& store_;
  SessionKey key_;
  bool made_ = false;
};

Result<std::unique_ptr<SessionStore>> SessionStore::open(Executor executor, pool::Manager& manager,
                                                         auth::Quotas& quotas, StoreOptions options) {
  CLOCHE_TRY(auto records, RecordFile::open(options.database, options.owner));
  CLOCHE_CHECK(manager.find(options.profile));
  return std::unique_ptr<SessionStore>(
      new SessionStore(std::move(executor), manager, quotas, std::move(records), std::move(options)));
}

SessionStore::SessionStore(Executor executor, pool::Manager& manager, auth::Quotas& quotas,
                           std::unique_ptr<RecordFile> records, StoreOptions options)
    : executor_(executor),
      manager_(manager),
      quotas_(quotas),
      records_(std::move(records)),
      options_(std::move(options)),
      expiries_(executor),
      found_(executor),
      tasks_(executor) {}

SessionStore::~SessionStore() = default;

Task<Status> SessionStore::start() {
  CLOCHE_CO_TRY(auto records, records_->all());
  auto held = manager_.take_held();
  for (Record& record : records) {
    auto lease = held.extract(holder_of(record.key));
    if (!record.made) {
      log::info("{} was being created when an earlier process ended; it is dropped", name_of(record.key));
      if (lease) lease.mapped().destroy();
      forget(record.key);
      continue;
    }
    pool::Lease found;
    if (lease) found = std::move(lease.mapped());
    auto meeting = [&] { return meet_again(record, std::move(found)); };
    auto met = co_await guarded("recover " + name_of(record.key), std::move(meeting));
    if (!met) lose(record, met.error().message);  // it alone
  }
  // The purpose of these is unknown.
  for (auto& [holder, lease] : held) lease.destroy();
  tasks_.spawn("session reaper", [this] { return reap_for_ever(); });
  tasks_.spawn("session expiry", [this] { return expire_for_ever(); });
  // Programs that are still running are counted before anything new is accepted.
  const Deadline counted = Deadline::after(counting_timeout);
  while (finding_ > 0 && !counted.passed()) co_await found_.wait(counted);
  co_return Status{};
}

// Programs that an earlier process started in the background.
Task<> SessionStore::find_runs(std::shared_ptr<Session> session) {
  struct Finding {
    explicit Finding(SessionStore& s) : store(s) {}
    ~Finding() {
      --store.finding_;
      store.found_.notify();
    }
    SessionStore& store;
  } const finding(*this);
  const SessionUse use(session);
  auto found = co_await Runs::of(use);
  if (!found) log::warn("{}: {}", name_of(session->key()), found.error().message);
  if (session->paused_since_) co_await pause_again(session);
}

Task<Status> SessionStore::meet_again(Record record, pool::Lease lease) {
  CLOCHE_CO_TRY(const auto tenant, auth::AuthorizedTenant::of_record(record.key.tenant));
  CLOCHE_CO_CHECK(fallible_point<"session.recover">());
  const auto session = add(record, quotas_.adopt(tenant, auth::Quota::sessions));
  session->is_recovered_ = true;
  const auto lose = [&](const std::string& why) {
    session->lost_because_ = why;
    log::warn("{} is lost: {}", name_of(record.key), why);
  };
  if (!lease) {
    lose("its sandbox did not survive the end of an earlier server process");
    co_return Status{};
  }
  const auto pool = manager_.find(record.options.profile);
  const ClaimOptions claim = claim_for(record.key, record.options);
  // Rights are those of today: a tenant that may no longer use the profile, or one of the secrets, loses the session.
  auto binding = pool ? (*pool)->binding_of(claim) : Result<pool::Binding>(std::unexpected(pool.error()));
  if (!binding) {
    lose(binding.error().message);
    lease.destroy();
    co_return Status{};
  }
  session->profile_ = std::shared_ptr<const Profile>(*pool, &(*pool)->profile());
  lease.rebind(std::move(*binding));
  session->lease_ = std::move(lease);
  // The kernel still has the limits; our side of them is to be known again.
  const Limits limits = record.options.limits.over(session->profile_->sandbox.limits);
  auto limited = co_await session->lease_->set_limits(limits);
  if (!limited) {
    log::warn("{}: {}", name_of(record.key), limited.error().message);
    lose("its limits could not be restored");
    co_return Status{};
  }
  if (session->lease_.binding().network.network != Network::none) {
    pool::Binding bound = session->lease_.binding();
    auto opened = co_await session->lease_.change_network(std::move(bound), Deadline::after(network_timeout));
    if (!opened) {
      log::warn("{}: {}", name_of(record.key), opened.error().message);
      lose("its network could not be restored");
      co_return Status{};
    }
  }
  // Background programs keep it from being idle.
  ++finding_;
  const bool begun = tasks_.spawn("find a session's runs", [this, session] { return find_runs(session); });
  if (!begun) --finding_;
  co_return Status{};
}

// Also if it could not be taken over at all.
void SessionStore::lose(const Record& record, const std::string& why) {
  auto found = sessions_.find(record.key);
  if (found == sessions_.end()) {
    const auto tenant = auth::AuthorizedTenant::of_record(record.key.tenant);
    if (!tenant) {
      log::error("{} is lost: {}", name_of(record.key), why);
      return;
    }
    add(record, quotas_.adopt(*tenant, auth::Quota::sessions));
    found = sessions_.find(record.key);
  }
  found->second->lost_because_ = why;
  found->second->lease_.destroy();
  log::error("{} is lost: {}", name_of(record.key), why);
}

std::shared_ptr<Session> SessionStore::add(const Record& record, auth::QuotaTicket ticket) {
  auto session = std::make_shared<Session>(executor_, record.key, record.options, record.created, quotas_);
  session->idle_timeout_ = record.options.idle_timeout.value_or(options_.idle_timeout);
  session->ticket_ = std::move(ticket);
  session->meter_ = options_.meter;
  session->artifact_rules_ = options_.artifacts;
  session->paused_since_ = record.paused;
  expiries_.set(record.key, record.options.expires);
  sessions_.emplace(record.key, session);
  return session;
}

SessionCounts SessionStore::counts() const {
  SessionCounts counts = counts_;
  for (const auto& [key, session] : sessions_) {
    const bool is_lost = session->lost().has_value();
    ++(is_lost ? counts.lost : counts.live);
    if (!is_lost && session->paused_since_) ++counts.paused;
  }
  return counts;
}

Status SessionStore::check_room() const {
  if (closed_) return fail(ErrorCode::unavailable, "the server is shutting down");
  const std::size_t taken = counts().live + making_.size();
  if (taken < options_.most) return {};
  return fail(ErrorCode::limit_reached, "session limit reached (" + std::to_string(taken) + " of " +
                                            std::to_string(options_.most) +
                                            "); end a session or wait for one to time out");
}

Result<std::shared_ptr<Session>> SessionStore::find_live(const SessionKey& key) const {
  const auto found = sessions_.find(key);
  if (found == sessions_.end()) return fail(ErrorCode::not_found, "no " + name_of(key));
  const auto& session = found->second;
  if (session->ending_) return fail(ending_error(key));
  if (const auto why = session->lost()) return fail(lost_error(*session, *why));
  if (session->paused_since_) return fail(Session::paused_error(key));
  return session;
}

Result<SessionUse> SessionStore::find(const auth::AuthorizedTenant& tenant, const std::string& id) {
  CLOCHE_CHECK(auth::check_session_id(id));
  CLOCHE_TRY(auto session, find_live({tenant.name(), id}));
  return SessionUse(std::move(session));
}

// A network that the tenant may not choose does not exist for it, whatever the session has.
Status SessionStore::check_network(const Session& session, const NetworkPolicy& network) const {
  SessionOptions options = session.options_;
  options.network = network;
  CLOCHE_TRY(const auto pool, manager_.find(options.profile));
  CLOCHE_CHECK(pool->binding_of(claim_for(session.key_, options)));
  const auto& own = session.options_.network;
  const bool has_none = network.mode == Network::none && session.profile_->network.mode == Network::none;
  if (own ? *own == network : has_none) return {};
  return fail(ErrorCode::already_exists,
              name_of(session.key_) +
                  " has another network; leave `network` out, or change it first with PUT /sessions/" +
                  session.key_.tenant + "/" + session.key_.id + "/network");
}

Task<Result<SessionUse>> SessionStore::use(auth::AuthorizedTenant tenant, std::string id, Deadline deadline,
                                           std::optional<NetworkPolicy> network) {
  CLOCHE_CO_CHECK(auth::check_session_id(id));
  SessionKey key{tenant.name(), id};
  for (;;) {
    auto found = find_live(key);
    if (found) {
      if (network) CLOCHE_CO_CHECK(check_network(**found, *network));
      co_return SessionUse(std::move(*found));
    }
    if (found.error().code != ErrorCode::not_found) co_return fail(std::move(found).error());
    if (deadline.passed()) co_return fail(ErrorCode::timeout, name_of(key) + " could not be created in time");
    if (const auto making = making_.find(key); making != making_.end()) {
      const auto other = making->second;
      co_await other->ended.wait(deadline);
      continue;
    }
    SessionOptions options;
    options.network = network;
    auto made = co_await make(tenant, key, std::move(options), deadline);
    if (!made) co_return fail(std::move(made).error());
    co_return SessionUse(std::move(*made));
  }
}

Task<Result<SessionInfo>> SessionStore::create(auth::AuthorizedTenant tenant, std::string id, SessionOptions options,
                                               Deadline deadline) {
  CLOCHE_CO_CHECK(auth::check_session_id(id));
  SessionKey key{tenant.name(), id};
  if (making_.contains(key)) co_return fail(ErrorCode::already_exists, name_of(key) + " is being created");
  if (const auto found = sessions_.find(key); found != sessions_.end()) {
    const auto former = found->second;
    if (!former->lost() && former->ending_) co_return fail(ending_error(key));
    if (!former->lost()) co_return fail(ErrorCode::already_exists, name_of(key) + " already exists");
    if (!former->ending_) begin_end(former, EndMode::cut, deadline);
    while (!former->gone_ && !deadline.passed()) co_await former->changed_.wait(deadline);
    if (sessions_.contains(key) || making_.contains(key)) {
      co_return fail(ErrorCode::already_exists, name_of(key) + " already exists");
    }
  }
  auto made = co_await make(std::move(tenant), std::move(key), std::move(options), deadline);
  if (!made) co_return fail(std::move(made).error());
  co_return (*made)->info();
}

Result<std::shared_ptr<pool::WarmPool>> SessionStore::pool_for(const std::string& tenant,
                                                               const std::string& profile) const {
  if (!profile.empty()) return manager_.find_for(tenant, profile);
  if (auto usual = manager_.find_for(tenant, options_.profile)) return usual;
  // A tenant that may not use it need not know what it is called.
  return fail(ErrorCode::not_found, "no default profile for sessions of this tenant; set a profile");
}

Task<Result<std::shared_ptr<Session>>> SessionStore::make(auth::AuthorizedTenant tenant, SessionKey key,
                                                          SessionOptions options, Deadline deadline) {
  CLOCHE_CO_CHECK(check_room());
  CLOCHE_CO_CHECK(check_metadata(options.metadata));
  CLOCHE_CO_CHECK(check_attributes(options.attributes));
  CLOCHE_CO_TRY(const auto pool, pool_for(key.tenant, options.profile));
  options.profile = pool->profile().name;
  CLOCHE_CO_CHECK(check_ceiling(options.limits, pool->profile().sandbox.limits, options_.max_limits));
  if (!options.snapshot.empty()) {
    CLOCHE_CO_TRY(options.snapshot, co_await find_snapshot(tenant, options.snapshot));
  }
  auto ticket = quotas_.open_session(tenant);
  if (!ticket) co_return fail(static_cast<Error>(ticket.error()));

  for (VolumeMount& each : options.volumes) each.tenant = key.tenant;
  Record record;
  record.key = key;
  record.options = std::move(options);
  record.created = std::chrono::system_clock::now();
  MakingPlace place(*this, key);
  CLOCHE_CO_CHECK(records_->begin(record));
  fault_point<"session.make.recorded">();
  ClaimOptions claim = claim_for(key, record.options);
  std::vector<VolumeMount> volumes = record.options.volumes;
  auto lease = co_await pool->claim_lasting(std::move(claim), holder_of(key), deadline, std::move(volumes));
  if (!lease) co_return fail(std::move(lease).error());
  fault_point<"session.make.claimed">();
  if (!record.options.snapshot.empty()) {
    CLOCHE_CO_CHECK(co_await options_.snapshots.restore(tenant, record.options.snapshot, *lease, deadline));
    fault_point<"session.make.restored">();
  }
  if (closed_) co_return fail(ErrorCode::unavailable, "the server is shutting down");
  CLOCHE_CO_CHECK(records_->set_made(key));
  fault_point<"session.make.made">();
  place.succeed();
  auto session = add(record, std::move(*ticket));
  session->profile_ = std::shared_ptr<const Profile>(pool, &pool->profile());
  session->lease_ = std::move(*lease);
  ++counts_.made;
  co_return session;
}

Task<Result<SessionInfo>> SessionStore::set_network(auth::AuthorizedTenant tenant, std::string id,
                                                    std::optional<NetworkPolicy> network, Deadline deadline) {
  CLOCHE_CO_TRY(const SessionUse use, find(tenant, id));
  const Gate::Pass pass = co_await use->state_changes_.enter(Urgency::ordinary);
  CLOCHE_CO_CHECK(find_live(use->key_));
  Session& session = *use;
  SessionOptions options = session.options_;
  options.network = std::move(network);
  CLOCHE_CO_TRY(const auto pool, manager_.find(options.profile));
  CLOCHE_CO_TRY(pool::Binding binding, pool->binding_of(claim_for(session.key_, options)));
  // The record comes first: after a crash the session has the network that it says.
  CLOCHE_CO_CHECK(write_record(session, options, std::nullopt));
  fault_point<"session.network.recorded">();
  auto changed = co_await session.lease_.change_network(std::move(binding), deadline);
  if (!changed) {
    if (auto undone = write_record(session, session.options_, std::nullopt); !undone)
      log::error("{}: {}", name_of(session.key_), undone.error().message);
    co_return fail(std::move(changed).error());
  }
  session.options_.network = std::move(options.network);
  // Attributes may have been replaced meanwhile.
  if (auto written = write_record(session, session.options_, std::nullopt); !written)
    log::error("{}: {}", name_of(session.key_), written.error().message);
  co_return session.info();
}

std::vector<SessionInfo> SessionStore::list(const std::optional<std::string>& tenant) const {
  std::vector<SessionInfo> all;
  for (const auto& [key, session] : sessions_) {
    if (!tenant || key.tenant == *tenant) all.push_back(session->info());
  }
  return all;
}

Result<SessionInfo> SessionStore::info(const auth::AuthorizedTenant& tenant, const std::string& id) const {
  const auto found = sessions_.find(SessionKey{tenant.name(), id});
  if (found == sessions_.end()) return fail(ErrorCode::not_found, "no such session");
  return found->second->info();
}

Task<Status> SessionStore::end(auth::AuthorizedTenant tenant, std::string id, EndMode mode, Deadline deadline) {
  const SessionKey key{tenant.name(), id};
  const auto found = sessions_.find(key);
  if (found == sessions_.end()) co_return fail(ErrorCode::not_found, "no " + name_of(key));
  const auto session = found->second;
  begin_end(session, mode, deadline);
  while (!session->gone_) co_await session->changed_.wait();
  co_return Status{};
}

// A second call may turn a wait into a cut, never the other way round.
void SessionStore::begin_end(const std::shared_ptr<Session>& session, EndMode mode, Deadline deadline) {
  if (mode == EndMode::cut) session->cut_ = true;
  session->changed_.notify();
  if (std::exchange(session->ending_, true)) return;
  const bool begun = tasks_.spawn("end session", [this, session, deadline] { return end_session(session, deadline); });
  if (!begun) let_go(*session, Sandbox::given_back);
}

Task<> SessionStore::end_session(std::shared_ptr<Session> session, Deadline deadline) {
  bool cut = false;
  auto work = [&] { return wind_up(*session, deadline, cut); };
  auto wound_up = co_await attempted("end " + name_of(session->key_), std::move(work));
  // Whatever went wrong, it has ended: programs that are still running end with its sandbox.
  if (wound_up) {
    session->parts_.clear();
  } else {
    cut = true;
  }
  let_go(*session, cut ? Sandbox::destroyed : Sandbox::given_back);
}

// Waits for the activities of the session, or cuts them off, until nothing uses it any more.
Task<Status> SessionStore::wind_up(Session& session, Deadline deadline, bool& cut) {
  fault_point<"session.end.begun">();
  // A pause or a change of the network that is under way comes to its end.
  co_await settle(session);
  // One that is paused has an agent that does not respond: nothing in it can come to its end.
  const bool is_paused = session.paused_since_.has_value();
  while (!session.cut_ && !is_paused && session.busy() && !deadline.passed()) co_await session.changed_.wait(deadline);
  cut = is_paused || session.busy();
  if (cut && session.lease_) session.lease_->cut_off({ErrorCode::sandbox_lost, "the session was ended"});
  // A running call may still ask for a part that does not exist yet.
  for (std::size_t i = 0; i < session.parts_.size(); ++i) co_await session.parts_[i]->close();
  // What was cut off fails immediately and releases the session.
  while (session.calls_ > 0) co_await session.changed_.wait();
  CLOCHE_CO_CHECK(fallible_point<"session.end.closed">());
  forget(session.key_);
  fault_point<"session.end.forgotten">();
  co_return Status{};
}

Task<> SessionStore::settle(Session& session) {
  const Gate::Pass pass = co_await session.state_changes_.enter(Urgency::urgent);
}

void SessionStore::let_go(Session& session, Sandbox sandbox) {
  forget(session.key_);
  expiries_.set(session.key_, std::nullopt);
  if (sandbox == Sandbox::destroyed) {
    session.lease_.destroy();
  } else {
    session.lease_.give_back();
  }
  session.ticket_.give_back();
  sessions_.erase(SessionKey(session.key_));
  ++counts_.ended;
  session.gone_ = true;
  session.changed_.notify();
}

void SessionStore::forget(const SessionKey& key) {
  if (auto forgotten = records_->forget(key); !forgotten) {
    log::error("{}: {}", name_of(key), forgotten.error().message);
  }
}

Task<> SessionStore::reap_for_ever() {
  for (;;) {
    co_await pause_for(check_interval);
    // A look that fails must not be the last one.
    try {
      fault_point<"session.reap">();
      reap();
    } catch (...) {
      [[maybe_unused]] const Error logged = to_error("look for idle sessions", std::current_exception());
    }
  }
}

void SessionStore::reap() {
  const auto now = Deadline::Clock::now();
  const WallTime today = std::chrono::system_clock::now();
  std::vector<std::shared_ptr<Session>> idle;
  std::vector<std::shared_ptr<Session>> long_paused;
  for (const auto& [key, session] : sessions_) {
    if (session->ending_) continue;
    if (session->paused_since_) {
      if (today - *session->paused_since_ >= options_.paused_timeout) long_paused.push_back(session);
    } else if (!session->busy() && now - session->idle_since_ >= session->idle_timeout_) {
      idle.push_back(session);
    }
  }
  for (const auto& session : long_paused) {
    log::info("{} was paused for {} s and is ended", name_of(session->key_), options_.paused_timeout.count());
    ++counts_.idled_out;
    begin_end(session, EndMode::cut, Deadline::never());
  }
  for (const auto& session : idle) {
    log::info("{} was idle for {} s and is ended", name_of(session->key_), session->idle_timeout_.count());
    ++counts_.idled_out;
    begin_end(session, EndMode::wait, Deadline::never());
  }
}

void SessionStore::hasten() {
  hastened_ = true;
  if (!closed_) return;
  const auto all = sessions_;
  for (const auto& [key, session] : all) begin_end(session, EndMode::cut, Deadline::never());
}

Task<> SessionStore::shut_down(Deadline deadline) {
  closed_ = true;
  std::vector<std::shared_ptr<Session>> all;
  for (const auto& [key, session] : sessions_) all.push_back(session);
  for (const auto& session : all) begin_end(session, hastened_ ? EndMode::cut : EndMode::wait, deadline);
  for (const auto& session : all) {
    while (!session->gone_) co_await session->changed_.wait();
  }
  co_await tasks_.shut_down();
}

}  // namespace cloche::session
