#include "session/session.hpp"

#include <algorithm>

namespace cloche::session {

std::string name_of(const SessionKey& key) { return "session '" + key.id + "' of tenant '" + key.tenant + "'"; }

Session::Session(const Executor& executor, SessionKey key, SessionOptions options, WallTime created,
                 auth::Quotas& quotas)
    : executor_(executor),
      key_(std::move(key)),
      options_(std::move(options)),
      created_(created),
      last_used_(created),
      quotas_(quotas),
      file_operations_(executor, bounds_.file_operations),
      state_changes_(executor, 1),
      changed_(executor) {}

SessionState Session::state() const {
  if (ending_) return SessionState::ending;
  if (lost()) return SessionState::lost;
  return paused_since_ ? SessionState::paused : SessionState::live;
}

Task<> Session::wait_until_paused() {
  const std::uint64_t before = pauses_;
  while (!paused_since_ && pauses_ == before) co_await changed_.wait();
}

Error Session::paused_error(const SessionKey& key) {
  return {ErrorCode::paused, name_of(key) + " is paused; resume it first"};
}

std::optional<std::string> Session::lost() const {
  if (!lost_because_.empty()) return lost_because_;
  if (!lease_) return "it has no sandbox";
  const auto error = lease_->lost();
  if (error) return error->message;
  return std::nullopt;
}

SessionInfo Session::info() const {
  SessionInfo info;
  info.key = key_;
  info.profile = options_.profile;
  info.state = state();
  if (info.state == SessionState::lost) info.lost_because = lost().value_or("");
  info.created = created_;
  info.last_used = last_used_;
  info.idle_timeout = idle_timeout_;
  info.calls = calls_;
  if (options_.network) {
    info.network = *options_.network;
  } else if (profile_) {
    info.network.mode = profile_->network.mode;
  }
  info.volumes = lease_ ? lease_->volumes() : options_.volumes;
  info.metadata = options_.metadata;
  info.expires = options_.expires;
  info.on_expiry = options_.on_expiry;
  if (lease_) info.sandbox = lease_->id().value;
  return info;
}

bool Session::busy() const {
  return calls_ > 0 || std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->busy(); });
}

Result<auth::QuotaTicket> Session::take(auth::Quota quota) const {
  CLOCHE_TRY(const auto tenant, auth::AuthorizedTenant::of_record(key_.tenant));
  auto ticket = quotas_.take(tenant, quota);
  if (!ticket) return fail(static_cast<Error>(ticket.error()));
  return std::move(*ticket);
}

Result<auth::QuotaTicket> Session::adopt(auth::Quota quota) const {
  CLOCHE_TRY(const auto tenant, auth::AuthorizedTenant::of_record(key_.tenant));
  return quotas_.adopt(tenant, quota);
}

Result<Admission> Session::admit(auth::Quota quota, const std::shared_ptr<std::uint32_t>& count,
                                 std::uint32_t most) const {
  if (*count >= most) {
    return fail(ErrorCode::limit_reached, "session limit reached: " + std::to_string(most) + " " +
                                              std::string(auth::to_string(quota)) + "; close some or retry later");
  }
  CLOCHE_TRY(auth::QuotaTicket ticket, take(quota));
  return Admission{std::move(ticket), SessionPlace(count)};
}

Result<Admission> Session::admit_stream() const { return admit(auth::Quota::streams, streams_, bounds_.streams); }

Result<Admission> Session::admit_connection() const {
  return admit(auth::Quota::connections, connections_, bounds_.connections);
}

Task<Gate::Pass> Session::begin_file_operation() { return file_operations_.enter(Urgency::ordinary); }

SessionUse::SessionUse(std::shared_ptr<Session> session) : session_(std::move(session)) { ++session_->calls_; }

SessionUse& SessionUse::operator=(SessionUse&& other) noexcept {
  if (this != &other) {
    end();
    session_ = std::move(other.session_);
  }
  return *this;
}

void SessionUse::end() {
  if (!session_) return;
  --session_->calls_;
  session_->last_used_ = std::chrono::system_clock::now();
  session_->idle_since_ = Deadline::Clock::now();
  session_->changed_.notify();
  session_.reset();
}

}  // namespace cloche::session
