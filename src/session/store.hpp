// SessionStore: the sessions of a server: made on first use from a warm pool, ended when idle, found again after a
// crash with their files and background execs.
#pragma once

#include "pool/manager.hpp"
#include "session/expiries.hpp"
#include "session/record_file.hpp"
#include "session/session.hpp"
#include "session/snapshot_hooks.hpp"

namespace cloche::session {

struct StoreOptions {
  std::string profile = "session";  // of sessions that name none
  std::chrono::seconds idle_timeout{900};
  std::chrono::seconds paused_timeout{24 * 3600};  // how long a session may be paused until it is ended
  std::uint32_t most = 50;    // of all tenants together; those of one tenant are limited by the quotas
  LimitOverrides max_limits;  // that a request may raise those of its profile to
  std::string database;       // which sessions there are
  std::string owner;          // whose database it is; empty: not checked
  RunMeter meter;             // called with every run
  // Which changed files are artifacts where a request says nothing.
  ChangeRules artifacts{.usual = ChangeRules::Usual::ignored, .include = {}, .exclude = {}};
  SnapshotHooks snapshots;
};

// Copies of a session.
struct ForkRequest {
  std::uint32_t count = 1;       // from 1 to most_forks
  std::vector<std::string> ids;  // one for each; empty: they are made up
  // Changes the options of each, which are otherwise those of the session. May be empty.
  std::function<void(SessionOptions&)> change;
};
inline constexpr std::uint32_t most_forks = 100;

struct SessionCounts {
  std::size_t live = 0;    // the paused ones too
  std::size_t paused = 0;  // of those that live
  std::size_t lost = 0;    // those that still say so
  std::uint64_t made = 0;
  std::uint64_t ended = 0;
  std::uint64_t idled_out = 0;  // of those that ended: idle or paused for too long
};

enum class EndMode {
  wait,  // calls under way finish first
  cut,   // they fail
};

class SessionStore {
 public:
  // Manager and quotas outlive the store.
  static Result<std::unique_ptr<SessionStore>> open(Executor executor, pool::Manager& manager, auth::Quotas& quotas,
                                                    StoreOptions options);
  ~SessionStore();
  SessionStore(const SessionStore&) = delete;
  SessionStore& operator=(const SessionStore&) = delete;

  // After the manager's start: takes back what an earlier process held. Those whose sandbox did not survive are lost,
  // and say so.
  Task<Status> start();

  // The session, created with the defaults and this network if it does not exist. `sandbox_lost` with the cause if it
  // was lost, `limit_reached` if there are too many, `already_exists` if it has another network.
  Task<Result<SessionUse>> use(auth::AuthorizedTenant tenant, std::string id, Deadline deadline,
                               std::optional<NetworkPolicy> network = std::nullopt);
  // Only an existing one: `not_found`. `paused` if it is paused, here and above.
  Result<SessionUse> find(const auth::AuthorizedTenant& tenant, const std::string& id);
  // A new one; in place of one that was lost. `already_exists` where one lives.
  Task<Result<SessionInfo>> create(auth::AuthorizedTenant tenant, std::string id, SessionOptions options,
                                   Deadline deadline);
  // Of one tenant, or of all; in the order of their keys.
  std::vector<SessionInfo> list(const std::optional<std::string>& tenant) const;
  // Also of a session that was lost or is being ended.
  Result<SessionInfo> info(const auth::AuthorizedTenant& tenant, const std::string& id) const;
  // `not_found` if it does not exist. Returns when its sandbox is released. With `wait`, calls that have not finished
  // by the deadline are cut off.
  Task<Status> end(auth::AuthorizedTenant tenant, std::string id, EndMode mode, Deadline deadline);

  // Changes the network of a session that lives; none: the profile's again. Programs that are already running keep
  // their environment. `not_found` if the tenant may not choose it.
  Task<Result<SessionInfo>> set_network(auth::AuthorizedTenant tenant, std::string id,
                                        std::optional<NetworkPolicy> network, Deadline deadline);

  // Stops all programs of a session that lives, until it is resumed. Calls under way fail with `paused`; runs and
  // contexts continue afterwards. Removes its expiry. `paused` if it already is.
  Task<Result<SessionInfo>> pause(auth::AuthorizedTenant tenant, std::string id, Deadline deadline);
  // One that is not paused stays as it is.
  Task<Result<SessionInfo>> resume(auth::AuthorizedTenant tenant, std::string id, Deadline deadline);
  // Sooner or later than before; none: it does not expire. Also of a paused one, which is then ended, or remains
  // paused.
  Task<Result<SessionInfo>> set_expiry(auth::AuthorizedTenant tenant, std::string id, std::optional<WallTime> expires,
                                       Deadline deadline);

  // How it was made and what changed since. Also of a session that is paused or lost.
  Result<SessionOptions> options_of(const auth::AuthorizedTenant& tenant, const std::string& id) const;
  // Replaces them all, in the record too.
  Status set_attributes(const auth::AuthorizedTenant& tenant, const std::string& id,
                        std::map<std::string, std::string> attributes);
  // What its sandbox uses. Also of a paused one.
  Task<Result<ResourceUse>> resource_use(auth::AuthorizedTenant tenant, std::string id, Deadline deadline);
  // Those that hold for its sandbox now.
  Result<Limits> limits_of(const auth::AuthorizedTenant& tenant, const std::string& id) const;

  // New sessions with the options and the files of this one, as they are now: its work directory and its home.
  // Programs, memory, contexts and other files are not copied. A result for each, in the order of the ids; an error
  // only if there is nothing to copy. Not cancellable once it has begun.
  Task<Result<std::vector<Result<SessionInfo>>>> fork(auth::AuthorizedTenant tenant, std::string id,
                                                      ForkRequest request, Deadline deadline);

  SessionCounts counts() const;
  const StoreOptions& options() const { return options_; }

  // Ends all. No new ones are made from now on. What runs in them is cut at the deadline, or by `hasten`.
  Task<> shut_down(Deadline deadline);
  void hasten();

 private:
  SessionStore(Executor executor, pool::Manager& manager, auth::Quotas& quotas, std::unique_ptr<RecordFile> records,
               StoreOptions options);
  // One that is being made: others who want it wait for it.
  struct Making {
    explicit Making(const Executor& executor) : ended(executor) {}
    Event ended;
  };
  class MakingPlace;

  Result<std::shared_ptr<Session>> find_live(const SessionKey& key) const;
  Status check_room() const;
  Task<Result<std::string>> find_snapshot(auth::AuthorizedTenant tenant, std::string snapshot);
  Task<Result<std::vector<Result<SessionInfo>>>> fork_files(auth::AuthorizedTenant tenant, SessionUse use,
                                                            ForkRequest request, Deadline deadline);
  Task<Result<std::vector<Result<SessionInfo>>>> make_forks(auth::AuthorizedTenant tenant, SessionOptions options,
                                                            std::vector<std::string> ids, Deadline deadline);
  Status check_network(const Session& session, const NetworkPolicy& network) const;
  // The profile that a request names, or the usual one; one that the tenant may use.
  Result<std::shared_ptr<pool::WarmPool>> pool_for(const std::string& tenant, const std::string& profile) const;
  Task<Result<std::shared_ptr<Session>>> make(auth::AuthorizedTenant tenant, SessionKey key, SessionOptions options,
                                              Deadline deadline);
  Task<> find_runs(std::shared_ptr<Session> session);
  // In pausing.cpp.
  Result<std::shared_ptr<Session>> find_pausable(const SessionKey& key) const;
  Task<Result<SessionInfo>> pause_session(std::shared_ptr<Session> session, Deadline deadline);
  Task<Result<SessionInfo>> resume_session(std::shared_ptr<Session> session, Deadline deadline);
  Task<Status> freeze(Session& session, Deadline deadline);
  Task<Status> thaw(Session& session, Deadline deadline);
  Task<> pause_again(std::shared_ptr<Session> session);
  void set_paused(Session& session, std::optional<WallTime> since);
  Status write_record(const Session& session, const SessionOptions& options, std::optional<WallTime> paused);
  // In expiry.cpp.
  Task<> expire_for_ever();
  void expire(const SessionKey& key);
  Task<> pause_or_end(std::shared_ptr<Session> session);
  Task<Status> meet_again(Record record, pool::Lease lease);
  std::shared_ptr<Session> add(const Record& record, auth::QuotaTicket ticket);
  void begin_end(const std::shared_ptr<Session>& session, EndMode mode, Deadline deadline);
  Task<> end_session(std::shared_ptr<Session> session, Deadline deadline);
  static Task<> settle(Session& session);
  Task<Status> wind_up(Session& session, Deadline deadline, bool& cut);
  enum class Sandbox { given_back, destroyed };
  void let_go(Session& session, Sandbox sandbox);
  void lose(const Record& record, const std::string& why);
  void forget(const SessionKey& key);
  Task<> reap_for_ever();
  void reap();

  Executor executor_;
  pool::Manager& manager_;
  auth::Quotas& quotas_;
  std::unique_ptr<RecordFile> records_;
  StoreOptions options_;
  std::map<SessionKey, std::shared_ptr<Session>> sessions_;
  std::map<SessionKey, std::shared_ptr<Making>> making_;
  Expiries expiries_;
  SessionCounts counts_;
  bool closed_ = false;
  bool hastened_ = false;
  std::size_t finding_ = 0;  // sessions whose runs of an earlier process are not known yet
  Event found_;
  TaskGroup tasks_;
};

}  // namespace cloche::session
