// Session: a sandbox with its workspace, kept for one (tenant, session id), and its activities.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auth/quotas.hpp"
#include "cloche/submission.hpp"
#include "core/async/event.hpp"
#include "core/async/gate.hpp"
#include "core/async/task_group.hpp"
#include "pool/lease.hpp"
#include "sandbox/change_rules.hpp"

namespace cloche::session {

struct SessionKey {
  std::string tenant;
  std::string id;

  auto operator<=>(const SessionKey&) const = default;
};

// For people: "session 'a' of tenant 'b'".
std::string name_of(const SessionKey& key);

using WallTime = std::chrono::system_clock::time_point;

// What happens to a session when its time is over.
enum class OnExpiry { end, pause };

// How a session is made. Secrets are names; their values are looked up when they are bound.
struct SessionOptions {
  std::string profile;  // empty: the store's
  std::map<std::string, std::string> env;
  std::vector<std::string> secrets;
  LimitOverrides limits;
  std::optional<std::chrono::seconds> idle_timeout;  // instead of the store's
  std::optional<NetworkPolicy> network;              // instead of the profile's
  std::vector<VolumeMount> volumes;                  // of its tenant, in addition to the profile's
  std::map<std::string, std::string> metadata;       // notes of the caller, shown and searched
  std::optional<WallTime> expires;                   // then its time is over, even if it is in use
  OnExpiry on_expiry = OnExpiry::end;
  std::string snapshot;                           // of its tenant, whose files it starts with; empty: none
  std::map<std::string, std::string> attributes;  // notes of the dialect that made it, never shown
};

enum class SessionState {
  live,
  paused,  // takes no calls until it is resumed
  lost,    // its sandbox died; it reports the cause until it is ended or created again
  ending,  // takes no new calls
};
std::string_view to_string(SessionState state);

// A program that was run in a session, for those who count.
struct RunEnded {
  std::string_view language;  // as its caller called it
  Category category = Category::success;
  Cause cause = Cause::none;
  std::chrono::microseconds wall{};
};
using RunMeter = std::function<void(const RunEnded&)>;

struct SessionInfo {
  SessionKey key;
  std::string profile;
  SessionState state = SessionState::live;
  std::string lost_because;
  WallTime created;
  WallTime last_used;
  std::chrono::seconds idle_timeout{};
  std::uint32_t calls = 0;  // under way
  NetworkPolicy network;    // its own; of the profile's the mode alone
  std::vector<VolumeMount> volumes;
  std::map<std::string, std::string> metadata;
  std::optional<WallTime> expires;
  OnExpiry on_expiry = OnExpiry::end;
  std::string sandbox;
};

// A part of a session (contexts, runs) that it owns. Parts are destroyed in the order of their creation, before the
// sandbox.
class SessionPart {
 public:
  virtual ~SessionPart() = default;
  // The sandbox is about to go, or has gone: everything of this part ends, and is waited for.
  virtual Task<> close() = 0;
  // True while it is doing something that the idle timeout must not interrupt.
  virtual bool busy() const = 0;
  // The session was paused, or resumed.
  virtual void set_paused(bool) {}
};

// Limits of concurrent activities in one session, besides its runs and contexts.
struct SessionBounds {
  std::uint32_t streams = 64;          // clients that follow its runs; one more is refused
  std::uint32_t connections = 64;      // into its sandbox; one more is refused
  std::uint32_t file_operations = 16;  // one more waits for its turn
};

// A counted place of a session; released by the destructor. May outlive the session.
class SessionPlace {
 public:
  SessionPlace() = default;
  explicit SessionPlace(std::shared_ptr<std::uint32_t> count) : count_(std::move(count)) { ++*count_; }
  SessionPlace(SessionPlace&&) noexcept = default;
  SessionPlace& operator=(SessionPlace&& other) noexcept {
    std::swap(count_, other.count_);
    return *this;
  }
  ~SessionPlace() {
    if (count_) --*count_;
  }

 private:
  std::shared_ptr<std::uint32_t> count_;
};

// Something of a tenant's in a session: counted in the tenant's quota and in the session's own bound.
struct Admission {
  auth::QuotaTicket ticket;
  SessionPlace place;
};

// Belongs on the thread that owns all state; held by the store and by all who use it.
class Session {
 public:
  Session(const Executor& executor, SessionKey key, SessionOptions options, WallTime created, auth::Quotas& quotas);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const SessionKey& key() const { return key_; }
  const SessionOptions& options() const { return options_; }
  SessionState state() const;
  // An earlier process made it: there may be programs that this process did not start.
  bool is_recovered() const { return is_recovered_; }
  // Why it was lost; nothing while its sandbox lives.
  std::optional<std::string> lost() const;
  SessionInfo info() const;

  // Only while it is live. What is bound to the session (env, secrets, work directory) holds for programs run
  // through the lease.
  pool::Lease& lease() { return lease_; }
  const Profile& profile() const { return *profile_; }
  // Absolute: the workspace.
  const std::string& work_dir() const { return lease_.binding().work_dir; }

  // The one part of this type, made the first time it is asked for. `Part(Session&)`.
  template <class Part>
  Part& part() {
    for (const auto& each : parts_) {
      if (auto* found = dynamic_cast<Part*>(each.get())) return *found;
    }
    auto made = std::make_unique<Part>(*this);
    Part& part = *made;
    part.set_paused(paused_since_.has_value());
    parts_.push_back(std::move(made));
    return part;
  }
  const Executor& executor() const { return executor_; }

  // Suspends until the session is paused, for calls that end then. See unless_paused.hpp.
  Task<> wait_until_paused();
  static Error paused_error(const SessionKey& key);

  // One thing more of the session's tenant: `limit_reached` over its quota.
  Result<auth::QuotaTicket> take(auth::Quota quota) const;
  // Something that an earlier process began: it counts even beyond the quota.
  Result<auth::QuotaTicket> adopt(auth::Quota quota) const;
  // A client that follows a run, a connection into the sandbox: `limit_reached` over the tenant's quota or the
  // session's bound.
  Result<Admission> admit_stream() const;
  Result<Admission> admit_connection() const;
  // File operations go so many at a time; each forks a worker in the sandbox.
  Task<Gate::Pass> begin_file_operation();

  // Which changed files are artifacts where a request says nothing.
  const ChangeRules& artifact_rules() const { return artifact_rules_; }
  void count(const RunEnded& run) const {
    if (meter_) meter_(run);
  }

 private:
  friend class SessionStore;
  friend class SessionUse;

  bool busy() const;
  Result<Admission> admit(auth::Quota quota, const std::shared_ptr<std::uint32_t>& count, std::uint32_t most) const;

  Executor executor_;
  SessionKey key_;
  SessionOptions options_;
  std::chrono::seconds idle_timeout_{};
  WallTime created_;
  WallTime last_used_;
  Deadline::Clock::time_point idle_since_ = Deadline::Clock::now();
  std::shared_ptr<const Profile> profile_;
  pool::Lease lease_;
  auth::Quotas& quotas_;
  SessionBounds bounds_;
  std::shared_ptr<std::uint32_t> streams_ = std::make_shared<std::uint32_t>(0);
  std::shared_ptr<std::uint32_t> connections_ = std::make_shared<std::uint32_t>(0);
  Gate file_operations_;
  Gate state_changes_;  // pause, resume, expiry, network, the end: one at a time
  std::optional<WallTime> paused_since_;
  std::uint64_t pauses_ = 0;  // how often it was paused
  auth::QuotaTicket ticket_;
  RunMeter meter_;
  ChangeRules artifact_rules_;
  bool is_recovered_ = false;
  bool ending_ = false;
  bool cut_ = false;
  bool gone_ = false;
  std::string lost_because_;  // before this process met it again
  std::uint32_t calls_ = 0;
  Event changed_;                                    // a call has ended, or the session
  std::vector<std::unique_ptr<SessionPart>> parts_;  // used only while the lease exists
};

// A call under way: as long as there is one, the session is not idle. Move-only.
class SessionUse {
 public:
  explicit SessionUse(std::shared_ptr<Session> session);
  SessionUse(SessionUse&&) noexcept = default;
  SessionUse& operator=(SessionUse&& other) noexcept;
  ~SessionUse() { end(); }

  Session& operator*() const { return *session_; }
  Session* operator->() const { return session_.get(); }
  const std::shared_ptr<Session>& shared() const { return session_; }

 private:
  void end();

  std::shared_ptr<Session> session_;
};

}  // namespace cloche::session
