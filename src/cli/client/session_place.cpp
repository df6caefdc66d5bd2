#include "cli/client/session_place.hpp"

#include <algorithm>
#include <array>
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

namespace {

// Those that are not there, as text.
std::string missing_volumes(const json::value& session, const json::array& wanted) {
  std::string missing;
  const json::value list = wanted;
  for (const json::object& each : json::objects(&list)) {
    const auto is_it = [&](const json::object& other) {
      return std::ranges::all_of(std::array{"name", "target", "access"}, [&](const char* field) {
        return json::text(each, field) == json::text(other, field);
      });
    };
    if (std::ranges::any_of(json::objects(json::find(session, "volumes")), is_it)) continue;
    missing += (missing.empty() ? "" : ", ") + json::text(each, "name");
  }
  return missing;
}

Task<Result<SessionPlace>> with_volumes(Service& service, SessionPlace place, json::array wanted) {
  if (wanted.empty()) co_return place;
  std::string target = place.target();
  CLOCHE_CO_TRY(const json::value session, co_await service.get(std::move(target)));
  const std::string missing = missing_volumes(session, wanted);
  if (missing.empty()) co_return place;
  co_return fail(ErrorCode::invalid_argument, "session `" + place.session +
                                                  "` exists without these volumes: " + missing +
                                                  "; end it with `cloche sessions kill`, or use another session");
}

}  // namespace

Task<Result<SessionPlace>> find_or_make_session(Service& service, std::string session, std::string tenant) {
  json::array none;
  co_return co_await find_or_make_session(service, std::move(session), std::move(tenant), std::move(none));
}

Task<Result<SessionPlace>> find_or_make_session(Service& service, std::string session, std::string tenant,
                                                json::array volumes) {
  auto found = co_await find_session(service, session, tenant);
  if (found) co_return co_await with_volumes(service, std::move(*found), std::move(volumes));
  if (found.error().code != ErrorCode::not_found) co_return found;
  json::object wanted;
  wanted["session_id"] = session;
  if (!tenant.empty()) wanted["tenant_id"] = tenant;
  if (!volumes.empty()) wanted["volumes"] = volumes;
  json::value body = std::move(wanted);
  std::string target = "/sessions";
  auto made = co_await service.post(std::move(target), std::move(body));
  // Another client was faster.
  if (!made && made.error().code == ErrorCode::already_exists) {
    found = co_await find_session(service, session, tenant);
    if (!found) co_return found;
    co_return co_await with_volumes(service, std::move(*found), std::move(volumes));
  }
  if (!made) co_return fail(std::move(made).error());
  SessionPlace place;
  place.tenant = made->is_object() ? json::text(made->get_object(), "tenant_id") : tenant;
  place.session = std::move(session);
  co_return place;
}

}  // namespace cloche::cli
