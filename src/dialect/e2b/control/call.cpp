#include "dialect/e2b/control/call.hpp"

#include "core/file_error.hpp"
#include "core/log.hpp"
#include "dialect/e2b/marker_files.hpp"
#include "dialect/e2b/routing.hpp"
#include "http/server/request/json_body.hpp"

namespace cloche::dialect::e2b {

namespace {

// Small enough to be read on the server's own thread.
constexpr Bytes longest_body = kib(256);
constexpr std::size_t deepest_body = 16;

}  // namespace

std::unexpected<Error> no_such_sandbox(std::string_view id) {
  return fail(ErrorCode::not_found,
              "Sandbox \"" + cloche::shown(id) + "\" doesn't exist or you don't have access to it");
}

Result<SandboxPtr> find_sandbox(const ControlCall& call) {
  const std::string_view name = call.path["id"];
  SandboxPtr found = call.parts.sandboxes.find(call.tenant.name(), sandbox_id_of(name));
  if (!found) return no_such_sandbox(name);
  return found;
}

Task<Result<boost::json::value>> read_body(http::Exchange& exchange) {
  auto text = co_await exchange.read_body(longest_body);
  if (!text) co_return fail(std::move(text).error());
  if (text->find_first_not_of(" \t\r\n") == std::string::npos) co_return boost::json::value(boost::json::object());
  co_return http::parse_json(*text, deepest_body);
}

Task<Status> answer_nothing(http::Exchange& exchange) { return exchange.respond(204, http::Fields(), std::string()); }

Result<std::shared_ptr<const Profile>> profile_of(const Parts& parts, const session::SessionInfo& info) {
  CLOCHE_TRY(const auto pool, parts.around.pools.find(info.profile));
  return std::shared_ptr<const Profile>(pool, &pool->profile());
}

Result<boost::json::object> show(const Parts& parts, const Sandbox& sandbox, const session::SessionInfo& info,
                                 ToJson to_json) {
  CLOCHE_TRY(const auto profile, profile_of(parts, info));
  return to_json({sandbox, info, profile->sandbox, parts.settings.domain});
}

Result<boost::json::object> show(const ControlCall& call, const Sandbox& sandbox, ToJson to_json) {
  const auto info = call.parts.sandboxes.info(sandbox);
  if (!info) return no_such_sandbox(sandbox.id);
  return show(call.parts, sandbox, *info, to_json);
}

Task<> mark_sandbox(Parts& parts, auth::AuthorizedTenant tenant, std::string id) {
  const auto use = parts.around.sessions.find(tenant, id);
  if (!use) co_return;
  const auto marked = co_await write_marker_files(**use, Deadline::after(changing_timeout));
  if (!marked) log::info("sandbox {}: {}", id, marked.error().message);
}

}  // namespace cloche::dialect::e2b
