// SessionStore: sessions whose time is over are ended or paused, even if they are in use.
#include "core/async/exceptions.hpp"
#include "core/async/shielded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "session/store.hpp"

namespace cloche::session {

namespace {

constexpr std::chrono::seconds expired_pause_timeout{30};

}  // namespace

Task<Result<SessionInfo>> SessionStore::set_expiry(auth::AuthorizedTenant tenant, std::string id,
                                                   std::optional<WallTime> expires, Deadline deadline) {
  CLOCHE_CO_TRY(const auto session, find_pausable({tenant.name(), id}));
  if (deadline.passed()) co_return fail(ErrorCode::timeout, "the expiry was not set in time");
  // A pause that is under way removes the expiry; this one comes after it.
  const Gate::Pass pass = co_await session->state_changes_.enter(Urgency::ordinary);
  CLOCHE_CO_CHECK(find_pausable(session->key_));
  SessionOptions options = session->options_;
  options.expires = expires;
  CLOCHE_CO_CHECK(write_record(*session, options, session->paused_since_));
  session->options_ = std::move(options);
  expiries_.set(session->key_, expires);
  fault_point<"session.expiry.recorded">();
  co_return session->info();
}

Task<> SessionStore::expire_for_ever() {
  for (;;) {
    const SessionKey key = co_await expiries_.next();
    // One that fails must not be the last one.
    try {
      fault_point<"session.expire">();
      expire(key);
    } catch (...) {
      [[maybe_unused]] const Error logged = to_error("expiry of " + name_of(key), std::current_exception());
      // It is looked at again.
      if (sessions_.contains(key)) expiries_.set(key, std::chrono::system_clock::now() + std::chrono::seconds(1));
    }
  }
}

void SessionStore::expire(const SessionKey& key) {
  const auto found = sessions_.find(key);
  if (found == sessions_.end() || found->second->ending_) return;
  const auto session = found->second;
  if (session->options_.on_expiry == OnExpiry::end || session->lost()) {
    log::info("{} has expired and is ended", name_of(key));
    begin_end(session, EndMode::cut, Deadline::never());
    return;
  }
  tasks_.spawn("pause an expired session", [this, session] { return pause_or_end(session); });
}

Task<> SessionStore::pause_or_end(std::shared_ptr<Session> session) {
  log::info("{} has expired and is paused", name_of(session->key_));
  auto work = [this, session] { return pause_session(session, Deadline::after(expired_pause_timeout)); };
  auto paused = co_await shielded(std::move(work));
  if (paused) co_return;
  if (paused.error().code == ErrorCode::paused) {
    session->options_.expires.reset();
    if (auto written = write_record(*session, session->options_, session->paused_since_); !written) {
      log::error("{}: {}", name_of(session->key_), written.error().message);
    }
    co_return;
  }
  if (session->ending_) co_return;
  log::warn("{} has expired and is ended because it could not be paused: {}", name_of(session->key_),
            paused.error().message);
  begin_end(session, EndMode::cut, Deadline::never());
}

}  // namespace cloche::session
