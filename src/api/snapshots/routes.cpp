#include "api/snapshots/routes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/errors.hpp"
#include "api/files/file_call.hpp"
#include "api/session_access.hpp"
#include "api/snapshots/bodies.hpp"
#include "http/server/request/json_body.hpp"

namespace cloche::api {

namespace {

using session::SessionStore;
using snapshot::Snapshots;

// To read the files of a session, and for a fork to write them.
constexpr std::chrono::minutes taking_timeout{10};
constexpr std::chrono::minutes forking_timeout{20};

// An empty body is fine.
Task<Result<json::value>> read_optional_json(http::Exchange& exchange) {
  if (!exchange.has_body()) co_return json::value(json::object());
  co_return co_await http::read_json(exchange);
}

Task<Status> take(SessionStore& store, Snapshots& snapshots, Call& call) {
  auto body = co_await read_optional_json(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  snapshot::TakeRequest wanted;
  CLOCHE_CO_TRY(wanted.name, read_new_snapshot(*body));
  CLOCHE_CO_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
  CLOCHE_CO_TRY(const session::SessionUse use, find_session(call, store));
  CLOCHE_CO_TRY(const FileTurn turn, co_await begin_file_operation(*use));
  wanted.session = use->key().id;
  wanted.profile = use->profile().name;
  auto taken = co_await snapshots.take(tenant, std::move(wanted), use->lease(), Deadline::after(taking_timeout));
  if (!taken) co_return fail(std::move(taken).error());
  const json::value answer = snapshot_json(*taken);
  co_return co_await http::respond_json(call.exchange, 201, answer);
}

Task<Status> fork(SessionStore& store, Call& call) {
  auto body = co_await read_optional_json(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(session::ForkRequest wanted, read_fork(*body));
  CLOCHE_CO_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
  auto forks = co_await store.fork(tenant, std::string(call.path["session"]), std::move(wanted),
                                   Deadline::after(forking_timeout));
  if (!forks) co_return fail(std::move(forks).error());
  for (const auto& each : *forks) {
    if (!each) log_failure(call.exchange, each.error());
  }
  const json::value answer = forks_json(*forks);
  co_return co_await http::respond_json(call.exchange, 201, answer);
}

std::optional<std::string> asked_for(const http::Query& query, std::string_view name) {
  const auto found = query.find(name);
  return found ? std::optional(std::string(*found)) : std::nullopt;
}

Task<Status> list(Snapshots& snapshots, Call& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  std::optional<std::string> tenant = asked_for(query, "tenant_id");
  const auto session = asked_for(query, "session_id");
  const auto name = asked_for(query, "name");
  const bool all_tenants = call.principal.role == auth::Role::admin && !tenant;
  if (!all_tenants) {
    CLOCHE_CO_TRY(const auto allowed, call.tenant(tenant));
    tenant = allowed.name();
  }
  auto found = co_await snapshots.list(std::move(tenant));
  if (!found) co_return fail(std::move(found).error());
  json::array all;
  for (const snapshot::SnapshotInfo& each : found->snapshots) {
    if ((!session || each.session == *session) && (!name || each.name == *name)) all.push_back(snapshot_json(each));
  }
  json::object answer;
  answer["snapshots"] = std::move(all);
  answer["stored"] = found->stored.count;
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

// The caller's own tenant, unless the query names another.
Result<auth::AuthorizedTenant> tenant_in_query(const Call& call) {
  CLOCHE_TRY(const http::Query query, call.exchange.query());
  return call.tenant(asked_for(query, "tenant_id"));
}

Task<Status> show(Snapshots& snapshots, Call& call) {
  CLOCHE_CO_TRY(const auto tenant, tenant_in_query(call));
  auto found = co_await snapshots.find(tenant, std::string(call.path["snapshot"]));
  if (!found) co_return fail(std::move(found).error());
  const json::value answer = snapshot_json(*found);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> remove(Snapshots& snapshots, Call& call) {
  CLOCHE_CO_TRY(const auto tenant, tenant_in_query(call));
  auto found = co_await snapshots.find(tenant, std::string(call.path["snapshot"]));
  if (!found) co_return fail(std::move(found).error());
  auto removed = co_await snapshots.remove(tenant, found->id);
  if (!removed) co_return removed;
  json::object answer;
  answer["status"] = "deleted";
  answer["tenant_id"] = tenant.name();
  answer["id"] = found->id;
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

}  // namespace

void add_snapshot_routes(CallRouter& router, SessionStore& store, Snapshots& snapshots) {
  router.add("POST", "/sessions/{tenant}/{session}/snapshots",
             [&store, &snapshots](Call& call) { return take(store, snapshots, call); });
  router.add("POST", "/sessions/{tenant}/{session}/fork", [&store](Call& call) { return fork(store, call); });
  router.add("GET", "/snapshots", [&snapshots](Call& call) { return list(snapshots, call); });
  router.add("GET", "/snapshots/{snapshot}", [&snapshots](Call& call) { return show(snapshots, call); });
  router.add("DELETE", "/snapshots/{snapshot}", [&snapshots](Call& call) { return remove(snapshots, call); });
}

}  // namespace cloche::api
