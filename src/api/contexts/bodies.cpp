#include "api/contexts/bodies.hpp"

#include <boost/json/object.hpp>

#include "json/json_object.hpp"
#include "core/utc_time.hpp"

namespace cloche::api {

namespace {

std::string text_of(session::WallTime time) {
  return to_utc_text(std::chrono::time_point_cast<WallTime::duration>(time));
}

}  // namespace

Result<NewContext> read_new_context(const json::value& body) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  NewContext wanted;
  CLOCHE_TRY(wanted.name, object.text("name"));
  CLOCHE_TRY(wanted.language, object.text("language"));
  CLOCHE_CHECK(object.finish());
  return wanted;
}

json::object to_json(const session::ContextInfo& info) {
  json::object body;
  body["name"] = info.name;
  body["language"] = session::to_string(info.language);
  body["alive"] = info.alive;
  body["calls"] = info.calls;
  body["created"] = text_of(info.created);
  body["last_used"] = text_of(info.last_used);
  return body;
}

}  // namespace cloche::api
