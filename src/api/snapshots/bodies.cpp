#include "api/snapshots/bodies.hpp"

#include "api/errors.hpp"
#include "api/sessions/bodies.hpp"
#include "core/utc_time.hpp"
#include "json/json_object.hpp"

namespace cloche::api {

Result<std::string> read_new_snapshot(const json::value& body) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  CLOCHE_TRY(std::string name, object.text("name", ""));
  CLOCHE_CHECK(object.finish());
  return name;
}

Result<session::ForkRequest> read_fork(const json::value& body) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  session::ForkRequest wanted;
  CLOCHE_TRY(wanted.ids, object.texts("ids"));
  const bool are_some = !wanted.ids.empty() && wanted.ids.size() <= session::most_forks;
  const auto usual = are_some ? static_cast<std::int64_t>(wanted.ids.size()) : 1;
  CLOCHE_TRY(const std::int64_t count, object.number("count", 1, session::most_forks, usual));
  wanted.count = static_cast<std::uint32_t>(count);
  CLOCHE_CHECK(object.finish());
  return wanted;
}

json::object snapshot_json(const snapshot::SnapshotInfo& info) {
  json::object body;
  body["id"] = info.id;
  body["tenant_id"] = info.tenant;
  if (!info.name.empty()) body["name"] = info.name;
  body["session_id"] = info.session;
  body["profile"] = info.profile;
  body["created"] = to_utc_text(std::chrono::time_point_cast<WallTime::duration>(info.created));
  body["files"] = info.files;
  body["size"] = info.size.count;
  body["kept"] = kept_files;
  return body;
}

json::object forks_json(const std::vector<Result<session::SessionInfo>>& forks) {
  json::array list;
  for (const auto& each : forks) {
    json::object one;
    if (each) {
      one["session"] = to_json(*each);
    } else {
      const ErrorAnswer answer = answer_for(each.error().code);
      const bool is_ours = answer.status == 500;
      one["error"] =
          json::object{{"code", answer.code},
                       {"message", is_ours ? internal_error_message : std::string_view(each.error().message)}};
    }
    list.push_back(std::move(one));
  }
  json::object body;
  body["forks"] = std::move(list);
  body["kept"] = kept_files;
  return body;
}

}  // namespace cloche::api
