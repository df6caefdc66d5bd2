// SessionStore: pause and resume. The record comes first: a process that dies between two steps leaves a sandbox that
// is frozen or not, and the next one makes it what the record says.
#include "core/async/guarded.hpp"
#include "core/async/shielded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "session/notes.hpp"
#include "session/store.hpp"

namespace cloche::session {

namespace {

// To undo a step that failed.
constexpr std::chrono::seconds undo_timeout{10};
// To pause a session again that was found paused.
constexpr std::chrono::seconds refreeze_timeout{30};

}  // namespace

// One with a sandbox, paused or not.
Result<std::shared_ptr<Session>> SessionStore::find_pausable(const SessionKey& key) const {
  auto found = find_live(key);
  if (found || found.error().code != ErrorCode::paused) return found;
  return sessions_.at(key);
}

Status SessionStore::write_record(const Session& session, const SessionOptions& options,
                                  std::optional<WallTime> paused) {
  Record record;
  record.key = session.key_;
  record.options = options;
  record.created = session.created_;
  record.made = true;
  record.paused = paused;
  return records_->begin(record);
}

void SessionStore::set_paused(Session& session, std::optional<WallTime> since) {
  session.paused_since_ = since;
  if (since) ++session.pauses_;
  for (const auto& part : session.parts_) part->set_paused(since.has_value());
  session.idle_since_ = Deadline::Clock::now();
  session.changed_.notify();
}

Task<Result<SessionInfo>> SessionStore::pause(auth::AuthorizedTenant tenant, std::string id, Deadline deadline) {
  CLOCHE_CO_TRY(auto session, find_live({tenant.name(), id}));
  auto work = [this, session, deadline] { return pause_session(session, deadline); };
  co_return co_await shielded(std::move(work));
}

Task<Result<SessionInfo>> SessionStore::pause_session(std::shared_ptr<Session> session, Deadline deadline) {
  const Gate::Pass pass = co_await session->state_changes_.enter(Urgency::ordinary);
  CLOCHE_CO_CHECK(find_live(session->key_));
  const auto expires = session->options_.expires;
  auto work = [&] { return freeze(*session, deadline); };
  auto frozen = co_await attempted("pause " + name_of(session->key_), std::move(work));
  if (frozen) co_return session->info();
  // Half paused is not paused.
  auto thawed = co_await session->lease_.shared()->thaw(Deadline::after(undo_timeout));
  if (!thawed) {
    log::error("{} is stuck: {}", name_of(session->key_), thawed.error().message);
    session->lease_->cut_off({ErrorCode::sandbox_lost, "its sandbox could not be thawed"});
  }
  session->options_.expires = expires;
  expiries_.set(session->key_, expires);
  if (auto written = write_record(*session, session->options_, std::nullopt); !written) {
    log::error("{}: {}", name_of(session->key_), written.error().message);
  }
  set_paused(*session, std::nullopt);
  co_return fail(std::move(frozen).error());
}

Task<Status> SessionStore::freeze(Session& session, Deadline deadline) {
  fault_point<"session.pause.begun">();
  const WallTime now = std::chrono::system_clock::now();
  SessionOptions options = session.options_;
  options.expires.reset();
  CLOCHE_CO_CHECK(write_record(session, options, now));
  fault_point<"session.pause.recorded">();
  session.options_.expires.reset();
  expiries_.set(session.key_, std::nullopt);
  // Calls under way end; from now on there are no new ones.
  set_paused(session, now);
  CLOCHE_CO_CHECK(co_await session.lease_.shared()->freeze(deadline));
  co_return fallible_point<"session.pause.frozen">();
}

Task<Result<SessionInfo>> SessionStore::resume(auth::AuthorizedTenant tenant, std::string id, Deadline deadline) {
  CLOCHE_CO_TRY(auto session, find_pausable({tenant.name(), id}));
  auto work = [this, session, deadline] { return resume_session(session, deadline); };
  co_return co_await shielded(std::move(work));
}

Task<Result<SessionInfo>> SessionStore::resume_session(std::shared_ptr<Session> session, Deadline deadline) {
  const Gate::Pass pass = co_await session->state_changes_.enter(Urgency::ordinary);
  CLOCHE_CO_CHECK(find_pausable(session->key_));
  if (!session->paused_since_) co_return session->info();
  auto work = [&] { return thaw(*session, deadline); };
  auto thawed = co_await attempted("resume " + name_of(session->key_), std::move(work));
  if (thawed) {
    set_paused(*session, std::nullopt);
    session->last_used_ = std::chrono::system_clock::now();
    co_return session->info();
  }
  // It stays paused, whether it was thawed or not.
  auto frozen = co_await session->lease_.shared()->freeze(Deadline::after(undo_timeout));
  if (!frozen) log::error("{} is paused but not frozen: {}", name_of(session->key_), frozen.error().message);
  if (auto written = write_record(*session, session->options_, session->paused_since_); !written) {
    log::error("{}: {}", name_of(session->key_), written.error().message);
  }
  co_return fail(std::move(thawed).error());
}

Task<Status> SessionStore::thaw(Session& session, Deadline deadline) {
  fault_point<"session.resume.begun">();
  CLOCHE_CO_CHECK(write_record(session, session.options_, std::nullopt));
  fault_point<"session.resume.recorded">();
  CLOCHE_CO_CHECK(co_await session.lease_.shared()->thaw(deadline));
  co_return fallible_point<"session.resume.thawed">();
}

// The backend has thawed it for this process to meet its agent.
Task<> SessionStore::pause_again(std::shared_ptr<Session> session) {
  const Gate::Pass pass = co_await session->state_changes_.enter(Urgency::ordinary);
  if (!session->paused_since_ || session->ending_ || session->lost()) co_return;
  auto work = [&]() -> Task<Status> {
    CLOCHE_CO_CHECK(fallible_point<"session.recover.pause">());
    co_return co_await session->lease_.shared()->freeze(Deadline::after(refreeze_timeout));
  };
  auto frozen = co_await attempted("pause " + name_of(session->key_), std::move(work));
  if (frozen) co_return;
  log::warn("{} was paused, and is live now because it could not be paused again: {}", name_of(session->key_),
            frozen.error().message);
  auto thawed = co_await session->lease_.shared()->thaw(Deadline::after(undo_timeout));
  if (!thawed) session->lease_->cut_off({ErrorCode::sandbox_lost, "its sandbox could not be thawed"});
  if (auto written = write_record(*session, session->options_, std::nullopt); !written) {
    log::error("{}: {}", name_of(session->key_), written.error().message);
  }
  set_paused(*session, std::nullopt);
}

Result<SessionOptions> SessionStore::options_of(const auth::AuthorizedTenant& tenant, const std::string& id) const {
  const auto found = sessions_.find(SessionKey{tenant.name(), id});
  if (found == sessions_.end()) return fail(ErrorCode::not_found, "no such session");
  return found->second->options_;
}

Status SessionStore::set_attributes(const auth::AuthorizedTenant& tenant, const std::string& id,
                                    std::map<std::string, std::string> attributes) {
  CLOCHE_CHECK(check_attributes(attributes));
  const auto found = sessions_.find(SessionKey{tenant.name(), id});
  if (found == sessions_.end()) return fail(ErrorCode::not_found, "no such session");
  Session& session = *found->second;
  if (session.ending_) return fail(ErrorCode::ending, name_of(session.key_) + " is being ended");
  SessionOptions options = session.options_;
  options.attributes = std::move(attributes);
  CLOCHE_CHECK(write_record(session, options, session.paused_since_));
  session.options_ = std::move(options);
  return {};
}

Result<Limits> SessionStore::limits_of(const auth::AuthorizedTenant& tenant, const std::string& id) const {
  CLOCHE_TRY(const auto session, find_pausable({tenant.name(), id}));
  return session->lease_->limits();
}

Task<Result<ResourceUse>> SessionStore::resource_use(auth::AuthorizedTenant tenant, std::string id, Deadline deadline) {
  CLOCHE_CO_TRY(const auto session, find_pausable({tenant.name(), id}));
  const auto sandbox = session->lease_.shared();
  if (session->state() == SessionState::live) co_return co_await sandbox->resource_and_disk_use(deadline);
  co_return co_await sandbox->resource_use(deadline);
}

}  // namespace cloche::session
