// Forks: new sessions with the files of another one, through a snapshot that exists only meanwhile.
#include "auth/names.hpp"
#include "core/async/guarded.hpp"
#include "core/async/shielded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "session/store.hpp"
#include "snapshot/snapshot_id.hpp"

namespace cloche::session {

namespace {

constexpr char fork_letter = 'f';

Status check_fork(ForkRequest& request) {
  if (request.count < 1 || request.count > most_forks) {
    return fail(ErrorCode::invalid_argument, "count must be from 1 to " + std::to_string(most_forks));
  }
  if (request.ids.empty()) {
    for (std::uint32_t i = 0; i < request.count; ++i) request.ids.push_back(snapshot::random_id(fork_letter));
  }
  if (request.ids.size() != request.count) {
    return fail(ErrorCode::invalid_argument,
                "ids must have one id for each of the " + std::to_string(request.count) + " sessions");
  }
  for (const std::string& id : request.ids) CLOCHE_CHECK(auth::check_session_id(id));
  return {};
}

}  // namespace

Task<Result<std::string>> SessionStore::find_snapshot(auth::AuthorizedTenant tenant, std::string snapshot) {
  if (!options_.snapshots.find) co_return fail(ErrorCode::unsupported, "this server has no snapshots");
  co_return co_await options_.snapshots.find(std::move(tenant), std::move(snapshot));
}

Task<Result<std::vector<Result<SessionInfo>>>> SessionStore::fork(auth::AuthorizedTenant tenant, std::string id,
                                                                  ForkRequest request, Deadline deadline) {
  if (!options_.snapshots.capture) co_return fail(ErrorCode::unsupported, "this server has no snapshots");
  CLOCHE_CO_CHECK(check_fork(request));
  CLOCHE_CO_TRY(SessionUse use, find(tenant, id));
  // Whatever happens to the caller, the snapshot is removed.
  auto work = [this, tenant = std::move(tenant), use = std::move(use), request = std::move(request),
               deadline]() mutable {
    return fork_files(std::move(tenant), std::move(use), std::move(request), deadline);
  };
  co_return co_await shielded(std::move(work));
}

Task<Result<std::vector<Result<SessionInfo>>>> SessionStore::fork_files(auth::AuthorizedTenant tenant, SessionUse use,
                                                                        ForkRequest request, Deadline deadline) {
  SessionOptions options = use->options();
  auto capture = [&]() -> Task<Result<std::string>> {
    CLOCHE_CO_TRY(const auth::QuotaTicket ticket, use->take(auth::Quota::files));
    const Gate::Pass pass = co_await use->begin_file_operation();
    co_return co_await options_.snapshots.capture(tenant, use->key().id, use->lease(), deadline);
  };
  auto captured = co_await attempted("take a temporary snapshot", std::move(capture));
  if (!captured) co_return fail(std::move(captured).error());
  options.snapshot = *captured;
  if (request.change) request.change(options);
  auto make = [&] { return make_forks(tenant, options, std::move(request.ids), deadline); };
  auto made = co_await attempted("fork a session", std::move(make));
  auto discard = [&] { return options_.snapshots.discard(tenant, *captured); };
  auto discarded = co_await attempted("remove a temporary snapshot", std::move(discard));
  if (!discarded) {
    log::warn("a temporary snapshot of tenant '{}' stays until the next start: {}", tenant.name(),
              discarded.error().message);
  }
  co_return made;
}

Task<Result<std::vector<Result<SessionInfo>>>> SessionStore::make_forks(auth::AuthorizedTenant tenant,
                                                                        SessionOptions options,
                                                                        std::vector<std::string> ids,
                                                                        Deadline deadline) {
  fault_point<"session.fork.captured">();
  std::vector<Result<SessionInfo>> forks(ids.size(), fail(ErrorCode::unavailable, "the server is shutting down"));
  TaskGroup making(executor_);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    making.spawn("fork a session", [&, i]() -> Task<> {
      auto create_one = [&, i] { return create(tenant, ids[i], options, deadline); };
      forks[i] = co_await attempted("fork a session", std::move(create_one));
    });
  }
  co_await making.join();
  co_return forks;
}

}  // namespace cloche::session
