#include "api/volumes/routes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/volumes/bodies.hpp"
#include "auth/names.hpp"
#include "http/server/request/json_body.hpp"

namespace cloche::api {

namespace {

using volume::Volumes;

constexpr std::chrono::seconds creating_timeout{60};
// For a sandbox that is being removed.
constexpr std::chrono::seconds deleting_timeout{10};

volume::Allowance allowance_of(const auth::QuotaLimits& limits) {
  volume::Allowance allowance;
  allowance.volumes = limits.volumes;
  if (limits.volume_bytes) allowance.bytes = Bytes{*limits.volume_bytes};
  return allowance;
}

Result<volume::VolumeId> volume_in_path(const Call& call) {
  CLOCHE_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
  volume::VolumeId id{tenant.name(), std::string(call.path["name"])};
  CLOCHE_CHECK(auth::check_volume_name(id.name));
  return id;
}

Task<Status> create(Volumes& volumes, const auth::Quotas& quotas, Call& call) {
  auto body = co_await http::read_json(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(NewVolume wanted, read_new_volume(*body));
  CLOCHE_CO_TRY(const auto tenant, call.tenant(wanted.tenant));
  volume::VolumeId id{tenant.name(), std::move(wanted.name)};
  auto made = co_await volumes.create(std::move(id), wanted.size, allowance_of(quotas.limits_of(tenant.name())),
                                      Deadline::after(creating_timeout));
  if (!made) co_return fail(std::move(made).error());
  const json::value answer = volume_json(*made);
  co_return co_await http::respond_json(call.exchange, 201, answer);
}

Task<Status> list(Volumes& volumes, Call& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  std::optional<std::string> tenant;
  if (const auto named = query.find("tenant_id")) tenant = std::string(*named);
  const bool all_tenants = call.principal.role == auth::Role::admin && !tenant;
  if (!all_tenants) {
    CLOCHE_CO_TRY(const auto allowed, call.tenant(tenant));
    tenant = allowed.name();
  }
  auto found = co_await volumes.list(std::move(tenant));
  if (!found) co_return fail(std::move(found).error());
  json::array all;
  for (const volume::VolumeInfo& each : *found) all.push_back(volume_json(each));
  json::object answer;
  answer["volumes"] = std::move(all);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> show(Volumes& volumes, Call& call) {
  CLOCHE_CO_TRY(volume::VolumeId id, volume_in_path(call));
  auto found = co_await volumes.find(std::move(id));
  if (!found) co_return fail(std::move(found).error());
  const json::value answer = volume_json(*found);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> remove(Volumes& volumes, Call& call) {
  CLOCHE_CO_TRY(volume::VolumeId id, volume_in_path(call));
  json::object answer;
  answer["status"] = "deleted";
  answer["tenant_id"] = id.tenant;
  answer["name"] = id.name;
  auto removed = co_await volumes.remove(std::move(id), Deadline::after(deleting_timeout));
  if (!removed) co_return removed;
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

}  // namespace

void add_volume_routes(CallRouter& router, Volumes& volumes, const auth::Quotas& quotas) {
  router.add("POST", "/volumes", [&volumes, &quotas](Call& call) { return create(volumes, quotas, call); });
  router.add("GET", "/volumes", [&volumes](Call& call) { return list(volumes, call); });
  router.add("GET", "/volumes/{tenant}/{name}", [&volumes](Call& call) { return show(volumes, call); });
  router.add("DELETE", "/volumes/{tenant}/{name}", [&volumes](Call& call) { return remove(volumes, call); });
}

}  // namespace cloche::api
