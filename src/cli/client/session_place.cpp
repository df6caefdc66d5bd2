#include "cli/client/session_place.hpp"

#include <vector>

#include "json/lenient_json.hpp"

namespace cloche::cli {

std::string SessionPlace::target() const {
  return "/sessions/" + percent_encoded(tenant) + "/" + percent_encoded(session);
}

Task<Result<SessionPlace>> find_session(Service& service, std::string session, std::string tenant) {
  std::string target = "/sessions";
  if (!tenant.empty()) target += "?tenant_id=" + percent_encoded(tenant);
  CLOCHE_CO_TRY(const json::value answer, co_await service.get(std::move(target)));
  std::vector<std::string> tenants;
  for (const json::object& each : json::objects(json::find(answer, "sessions"))) {
    if (json::text(each, "session_id") == session) tenants.push_back(json::text(each, "tenant_id"));
  }
  if (tenants.empty()) {
    co_return fail(ErrorCode::not_found,
                   "no session `" + session + "`; run `cloche sessions list` to see all sessions");
  }
  if (tenants.size() > 1) {
    std::string all;
    for (const std::string& each : tenants) all.append(all.empty() ? "" : ", ").append(each);
    co_return fail(ErrorCode::invalid_argument,
                   "several tenants have a session `" + session + "` (" + all + "): choose one with --tenant");
  }
  SessionPlace place;
  place.tenant = std::move(tenants.front());
  place.session = std::move(session);
  co_return place;
}

Task<Result<SessionPlace>> find_or_make_session(Service& service, std::string session, std::string tenant) {
  auto found = co_await find_session(service, session, tenant);
  if (found || found.error().code != ErrorCode::not_found) co_return found;
  json::object wanted;
  wanted["session_id"] = session;
  if (!tenant.empty()) wanted["tenant_id"] = tenant;
  json::value body = std::move(wanted);
  std::string target = "/sessions";
  auto made = co_await service.post(std::move(target), std::move(body));
  // Another client was faster.
  if (!made && made.error().code == ErrorCode::already_exists) {
    found = co_await find_session(service, session, tenant);
    co_return found;
  }
  if (!made) co_return fail(std::move(made).error());
  SessionPlace place;
  place.tenant = made->is_object() ? json::text(made->get_object(), "tenant_id") : tenant;
  place.session = std::move(session);
  co_return place;
}

}  // namespace cloche::cli
