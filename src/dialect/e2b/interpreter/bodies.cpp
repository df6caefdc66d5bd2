#include "dialect/e2b/interpreter/bodies.hpp"

#include "core/text.hpp"
#include "json/json_object.hpp"

namespace cloche::dialect::e2b {

Result<ExecuteBody> read_execute_body(const boost::json::value& body) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  ExecuteBody wanted;
  CLOCHE_TRY(wanted.code, object.text("code"));
  if (object.has("context_id")) {
    CLOCHE_TRY(wanted.context_id, object.text("context_id"));
  }
  if (object.has("language")) {
    CLOCHE_TRY(wanted.language, object.text("language"));
  }
  if (object.has("env_vars")) {
    CLOCHE_TRY(wanted.env_vars, object.text_map("env_vars"));
  }
  if (wanted.context_id && wanted.language) {
    return fail(ErrorCode::invalid_argument, "Only one of context_id or language can be provided");
  }
  return wanted;
}

Result<ContextBody> read_context_body(const boost::json::value& body) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  ContextBody wanted;
  CLOCHE_TRY(wanted.language, object.text("language", "python"));
  CLOCHE_TRY(wanted.cwd, object.text("cwd", ""));
  return wanted;
}

}  // namespace cloche::dialect::e2b
