#include "dialect/e2b/control/bodies.hpp"
#include "dialect/e2b/control/routes.hpp"

namespace cloche::dialect::e2b {

namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

// The sandbox of the path, which is running.
Result<SandboxPtr> find_running(const ControlCall& call) {
  CLOCHE_TRY(const SandboxPtr sandbox, find_sandbox(call));
  CLOCHE_TRY(const session::SessionInfo info, call.parts.sandboxes.info(*sandbox));
  if (info.state != session::SessionState::paused) return sandbox;
  return fail(ErrorCode::paused, "Sandbox " + sandbox->id + " is paused; connect to it first");
}

Task<Status> set_timeout(ControlCall& call) {
  auto body = co_await read_body(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  const TimeoutRule rule{.most = call.parts.settings.max_timeout, .least = seconds(0)};
  CLOCHE_CO_TRY(const seconds timeout, read_timeout(*body, rule, std::nullopt));
  CLOCHE_CO_TRY(const SandboxPtr sandbox, find_running(call));
  auto changed = co_await call.parts.around.sessions.set_expiry(call.tenant, sandbox->id, system_clock::now() + timeout,
                                                                Deadline::after(changing_timeout));
  if (!changed) co_return fail(std::move(changed).error());
  sandbox->log.add("info", "timeout set", {{"seconds", std::to_string(timeout.count())}});
  co_return co_await answer_nothing(call.exchange);
}

// Never sooner than before.
Task<Status> refresh(ControlCall& call) {
  auto body = co_await read_body(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(seconds duration, read_duration(*body));
  duration = std::min(duration, call.parts.settings.max_timeout);
  CLOCHE_CO_TRY(const SandboxPtr sandbox, find_running(call));
  CLOCHE_CO_TRY(const session::SessionInfo info, call.parts.sandboxes.info(*sandbox));
  const auto wanted = system_clock::now() + duration;
  if (info.expires && *info.expires < wanted) {
    auto changed = co_await call.parts.around.sessions.set_expiry(call.tenant, sandbox->id, wanted,
                                                                  Deadline::after(changing_timeout));
    if (!changed) co_return fail(std::move(changed).error());
  }
  co_return co_await answer_nothing(call.exchange);
}

Task<Status> pause(ControlCall& call) {
  // Memory is always kept, whatever the body says about it.
  auto body = co_await read_body(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(const SandboxPtr sandbox, find_sandbox(call));
  auto paused = co_await call.parts.around.sessions.pause(call.tenant, sandbox->id, Deadline::after(changing_timeout));
  if (!paused) {
    Error error = std::move(paused).error();
    if (error.code == ErrorCode::paused) error.message = "Sandbox " + sandbox->id + " is already paused";
    co_return fail(std::move(error));
  }
  sandbox->log.add("info", "sandbox paused");
  co_return co_await answer_nothing(call.exchange);
}

Task<Status> set_network(ControlCall& call) {
  auto body = co_await read_body(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(NetworkWish wish, read_network_update(*body));
  CLOCHE_CO_TRY(const SandboxPtr sandbox, find_running(call));
  auto changed = co_await call.parts.around.sessions.set_network(call.tenant, sandbox->id, std::move(wish.policy),
                                                                 Deadline::after(changing_timeout));
  if (!changed) {
    Error error = std::move(changed).error();
    const bool exists = call.parts.sandboxes.info(*sandbox).has_value();
    if (error.code == ErrorCode::not_found && exists) error.code = ErrorCode::permission_denied;
    co_return fail(std::move(error));
  }
  Attributes attributes = sandbox->attributes;
  attributes.internet = wish.internet;
  attributes.network = std::move(wish.shown);
  CLOCHE_CO_CHECK(call.parts.sandboxes.set_attributes(*sandbox, std::move(attributes)));
  sandbox->log.add("info", "network changed");
  co_return co_await answer_nothing(call.exchange);
}

}  // namespace

void add_change_routes(ControlRouter& router) {
  router.add("POST", "/sandboxes/{id}/timeout", [](ControlCall& call) { return set_timeout(call); });
  router.add("POST", "/sandboxes/{id}/refreshes", [](ControlCall& call) { return refresh(call); });
  router.add("POST", "/sandboxes/{id}/pause", [](ControlCall& call) { return pause(call); });
  router.add("PUT", "/sandboxes/{id}/network", [](ControlCall& call) { return set_network(call); });
}

}  // namespace cloche::dialect::e2b
