#include "api/operations/access_routes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "http/server/request/json_body.hpp"

namespace cloche::api {

namespace {

namespace json = boost::json;
using auth::Resource;

json::object entry_of(const std::string& name, const auth::AccessList& list) {
  json::array tenants;
  for (const std::string& tenant : list.tenants()) tenants.emplace_back(tenant);
  json::object entry;
  entry["name"] = name;
  entry["all_tenants"] = list.is_all();
  entry["tenants"] = std::move(tenants);
  return entry;
}

json::array lists_of(const auth::AccessTable& table, Resource resource) {
  json::array all;
  for (const auto& [name, list] : table.lists_of(resource)) all.push_back(entry_of(name, list));
  return all;
}

// Including what makes a profile restricted.
json::array profiles_of(const pool::Manager& pools) {
  json::array all;
  for (const auto& [name, list] : pools.access().lists_of(Resource::profile)) {
    json::object entry = entry_of(name, list);
    json::array secrets, mounts, volumes;
    if (const auto pool = pools.find(name)) {
      const Profile& profile = (*pool)->profile();
      for (const std::string& secret : profile.secrets) secrets.emplace_back(secret);
      for (const Mount& mount : profile.sandbox.mounts) mounts.emplace_back(mount.target);
    }
    for (const VolumeMount& each : pools.volumes_of(name)) {
      volumes.push_back(json::object{{"tenant_id", each.tenant}, {"name", each.name}, {"target", each.target}});
    }
    entry["secrets"] = std::move(secrets);
    entry["mounts"] = std::move(mounts);
    entry["volumes"] = std::move(volumes);
    all.push_back(std::move(entry));
  }
  return all;
}

Task<Status> show(const pool::Manager& pools, Call& call) {
  CLOCHE_CO_CHECK(auth::require_admin(call.principal));
  json::object answer;
  answer["profiles"] = profiles_of(pools);
  answer["secrets"] = lists_of(pools.access(), Resource::secret);
  answer["rule_sets"] = lists_of(pools.access(), Resource::rule_set);
  answer["networks"] = lists_of(pools.access(), Resource::network);
  answer["languages"] = lists_of(pools.access(), Resource::language);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

}  // namespace

void add_access_routes(CallRouter& router, const pool::Manager& pools) {
  router.add("GET", "/access", [&pools](Call& call) { return show(pools, call); });
}

}  // namespace cloche::api
