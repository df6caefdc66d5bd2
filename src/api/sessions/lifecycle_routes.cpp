#include "api/sessions/lifecycle_routes.hpp"

#include <boost/json/object.hpp>

#include "api/sessions/bodies.hpp"
#include "http/server/request/json_body.hpp"

namespace cloche::api {

namespace {

using session::SessionStore;

constexpr std::chrono::seconds pausing_timeout{60};
constexpr std::chrono::seconds measuring_timeout{10};

std::string session_in(const Call& call) { return std::string(call.path["session"]); }

Task<Status> answer_info(Call& call, Result<session::SessionInfo> info) {
  if (!info) co_return fail(std::move(info).error());
  const json::value answer = api::to_json(*info);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> pause(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
  call.exchange.outlive_client();
  auto paused = co_await store.pause(tenant, session_in(call), Deadline::after(pausing_timeout));
  co_return co_await answer_info(call, std::move(paused));
}

Task<Status> resume(SessionStore& store, Call& call) {
  std::optional<std::chrono::milliseconds> timeout;
  if (call.exchange.has_body()) {
    auto body = co_await http::read_json(call.exchange);
    if (!body) co_return fail(std::move(body).error());
    CLOCHE_CO_TRY(timeout, read_timeout_body(*body));
  }
  CLOCHE_CO_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
  call.exchange.outlive_client();
  const Deadline deadline = Deadline::after(pausing_timeout);
  auto resumed = co_await store.resume(tenant, session_in(call), deadline);
  if (resumed && timeout)
    resumed = co_await store.set_expiry(tenant, session_in(call), expiry_after(*timeout), deadline);
  co_return co_await answer_info(call, std::move(resumed));
}

Task<Status> set_timeout(SessionStore& store, Call& call) {
  auto body = co_await http::read_json(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(const auto timeout, read_timeout_body(*body));
  CLOCHE_CO_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
  std::optional<session::WallTime> expires;
  if (timeout) expires = expiry_after(*timeout);
  auto set = co_await store.set_expiry(tenant, session_in(call), expires, Deadline::after(pausing_timeout));
  co_return co_await answer_info(call, std::move(set));
}

Task<Status> metrics(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
  CLOCHE_CO_TRY(const Limits limits, store.limits_of(tenant, session_in(call)));
  auto use = co_await store.resource_use(tenant, session_in(call), Deadline::after(measuring_timeout));
  if (!use) co_return fail(std::move(use).error());
  json::object answer;
  answer["cpu_time"] = std::chrono::duration<double>(use->cpu_time).count();
  answer["memory"] = use->memory.count;
  answer["cache"] = use->cache.count;
  if (use->disk) answer["disk"] = use->disk->count;
  json::object of;
  of["memory"] = limits.memory.count;
  of["cpus"] = limits.cpus;
  of["pids"] = limits.pids;
  answer["limits"] = std::move(of);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

}  // namespace

void add_lifecycle_routes(CallRouter& router, SessionStore& store) {
  const std::string one = "/sessions/{tenant}/{session}";
  const auto add = [&](const char* method, const char* below, Task<Status> (*serve)(SessionStore&, Call&)) {
    router.add(method, one + below, [&store, serve](Call& call) { return serve(store, call); });
  };
  add("POST", "/pause", pause);
  add("POST", "/resume", resume);
  add("PUT", "/timeout", set_timeout);
  add("GET", "/metrics", metrics);
}

}  // namespace cloche::api
