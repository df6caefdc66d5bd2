#include <boost/json/array.hpp>

#include "dialect/e2b/control/bodies.hpp"
#include "dialect/e2b/control/listing.hpp"
#include "dialect/e2b/control/routes.hpp"
#include "dialect/e2b/control/templates.hpp"
#include "dialect/e2b/routing.hpp"
#include "http/server/request/json_body.hpp"
#include "json/write_json.hpp"

namespace cloche::dialect::e2b {

namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

// Sandboxes end at their time, used or not.
constexpr std::chrono::hours never_idle{24 * 365 * 10};
constexpr seconds default_of_connect{300};
constexpr seconds default_of_resume{15};
constexpr std::chrono::seconds ending_timeout{60};

TimeoutRule rule_for(const Parts& parts, seconds least) { return {.most = parts.settings.max_timeout, .least = least}; }

session::SessionOptions options_for(const NewSandbox& wanted, const Template& made_from, const std::string& api_key) {
  Attributes attributes;
  attributes.template_id = made_from.id;
  attributes.secure = wanted.secure;
  attributes.auto_resume = wanted.auto_resume;
  attributes.public_traffic = wanted.network.public_traffic.value_or(true);
  attributes.api_key = api_key;
  attributes.timeout = wanted.timeout;
  attributes.internet = wanted.network.internet;
  attributes.network = wanted.network.shown;
  attributes.mask_host = wanted.network.mask_host;
  attributes.https_ports = wanted.network.https_ports;
  session::SessionOptions options;
  options.profile = made_from.profile;
  options.snapshot = made_from.snapshot;
  options.env = wanted.env;
  options.metadata = wanted.metadata;
  options.network = wanted.network.policy;
  options.idle_timeout = never_idle;
  // Until it exists, its time does not run out.
  options.expires = system_clock::now() + making_timeout + wanted.timeout;
  options.on_expiry = wanted.auto_pause ? session::OnExpiry::pause : session::OnExpiry::end;
  options.attributes = to_map(attributes);
  return options;
}

Status check_security(const Parts& parts, const NewSandbox& wanted) {
  if (wanted.secure || parts.allows_insecure()) return {};
  return fail(
      ErrorCode::invalid_argument,
      "secure: false is rejected: every client that knows the sandbox's id could use it; leave `secure` out, or "
      "set dialects.e2b.insecure in cloche.yml");
}

// A session is refused with `not_found` if its tenant may not choose a network. Clients would take that for a template
// that does not exist.
Error refusal_of_network(Error error) {
  if (error.code == ErrorCode::not_found) error.code = ErrorCode::permission_denied;
  return error;
}

Task<Status> create(ApiVersion version, ControlCall& call) {
  Parts& parts = call.parts;
  auto body = co_await read_body(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(const NewSandbox wanted, read_new_sandbox(*body, version, rule_for(parts, seconds(1))));
  CLOCHE_CO_CHECK(check_security(parts, wanted));
  CLOCHE_CO_TRY(const Template made_from, co_await find_template(parts, call.tenant, wanted.template_id));
  const std::string id = parts.sandboxes.new_id();
  session::SessionOptions options = options_for(wanted, made_from, call.api_key);
  Attributes attributes = *attributes_of(options.attributes);
  auto made =
      co_await parts.around.sessions.create(call.tenant, id, std::move(options), Deadline::after(making_timeout));
  if (!made) co_return fail(refusal_of_network(std::move(made).error()));
  const SandboxPtr sandbox = parts.sandboxes.add(call.tenant, id, std::move(attributes));
  sandbox->log.add("info", "sandbox created", {{"template", made_from.id}});
  co_await mark_sandbox(parts, call.tenant, id);
  auto ends = co_await parts.around.sessions.set_expiry(call.tenant, id, system_clock::now() + wanted.timeout,
                                                        Deadline::after(changing_timeout));
  if (!ends) co_return fail(std::move(ends).error());
  CLOCHE_CO_TRY(const json::object answer, show(parts, *sandbox, *ends, &to_connection_json));
  co_return co_await http::respond_json(call.exchange, 201, answer);
}

// The key that the sandbox belongs to was revoked: it belongs to the caller's from now on, with a new access token.
Status renew_key(ControlCall& call, Sandbox& sandbox) {
  const auto valid = check_api_key(call.parts, sandbox);
  if (valid || valid.error().reason == auth::Reason::unavailable) return {};
  Attributes attributes = sandbox.attributes;
  attributes.api_key = call.api_key;
  return call.parts.sandboxes.set_attributes(sandbox, std::move(attributes));
}

Task<Status> extend(ControlCall& call, const Sandbox& sandbox, session::SessionInfo info, seconds timeout) {
  const auto wanted = system_clock::now() + timeout;
  if (info.expires && *info.expires >= wanted) co_return Status{};
  auto changed = co_await call.parts.around.sessions.set_expiry(call.tenant, sandbox.id, wanted,
                                                                Deadline::after(changing_timeout));
  if (!changed) co_return fail(std::move(changed).error());
  co_return Status{};
}

Task<Status> answer_connection(ControlCall& call, const Sandbox& sandbox, unsigned status) {
  CLOCHE_CO_TRY(const json::object answer, show(call, sandbox, &to_connection_json));
  co_return co_await http::respond_json(call.exchange, status, answer);
}

Task<Status> connect(ApiVersion version, ControlCall& call) {
  auto body = co_await read_body(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  std::optional<seconds> otherwise;
  if (version == ApiVersion::v2) otherwise = default_of_connect;
  CLOCHE_CO_TRY(const seconds timeout, read_timeout(*body, rule_for(call.parts, seconds(0)), otherwise));
  CLOCHE_CO_TRY(const SandboxPtr sandbox, find_sandbox(call));
  CLOCHE_CO_CHECK(renew_key(call, *sandbox));
  CLOCHE_CO_TRY(session::SessionInfo info, call.parts.sandboxes.info(*sandbox));
  if (info.state == session::SessionState::paused) {
    CLOCHE_CO_CHECK(co_await resume(call.parts, *sandbox, timeout, Deadline::after(making_timeout)));
    co_return co_await answer_connection(call, *sandbox, 201);
  }
  CLOCHE_CO_CHECK(co_await extend(call, *sandbox, std::move(info), timeout));
  co_return co_await answer_connection(call, *sandbox, 200);
}

Task<Status> resume_paused(ControlCall& call) {
  auto body = co_await read_body(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(const seconds timeout, read_timeout(*body, rule_for(call.parts, seconds(1)), default_of_resume));
  CLOCHE_CO_TRY(const SandboxPtr sandbox, find_sandbox(call));
  CLOCHE_CO_CHECK(renew_key(call, *sandbox));
  CLOCHE_CO_TRY(const session::SessionInfo info, call.parts.sandboxes.info(*sandbox));
  if (info.state != session::SessionState::paused) {
    co_return fail(ErrorCode::already_exists, "Sandbox " + sandbox->id + " is already running");
  }
  CLOCHE_CO_CHECK(co_await resume(call.parts, *sandbox, timeout, Deadline::after(making_timeout)));
  co_return co_await answer_connection(call, *sandbox, 201);
}

Task<Status> show_one(ControlCall& call) {
  CLOCHE_CO_TRY(const SandboxPtr sandbox, find_sandbox(call));
  CLOCHE_CO_TRY(const json::object answer, show(call, *sandbox, &to_detail_json));
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

std::vector<Listed> all_of(ControlCall& call) {
  std::vector<Listed> all;
  for (const auto& [id, sandbox] : call.parts.sandboxes.all()) {
    if (sandbox->tenant.name() != call.tenant.name()) continue;
    if (auto info = call.parts.sandboxes.info(*sandbox)) all.push_back({sandbox, *std::move(info)});
  }
  return all;
}

Task<Status> answer_list(ControlCall& call, ListQuery query) {
  const ListPage page = page_of(all_of(call), query);
  json::array entries;
  for (const Listed& each : page.items) {
    // One whose profile is gone cannot be described.
    auto entry = show(call.parts, *each.sandbox, each.info, &to_listed_json);
    if (entry) entries.push_back(*std::move(entry));
  }
  http::Fields fields;
  fields.emplace_back("Content-Type", "application/json");
  if (!page.next.empty()) fields.emplace_back("x-next-token", page.next);
  std::string text = write_json(entries);
  co_return co_await call.exchange.respond(200, std::move(fields), std::move(text));
}

Task<Status> list(ControlCall& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  CLOCHE_CO_TRY(ListQuery wanted, read_list_query(query));
  co_return co_await answer_list(call, std::move(wanted));
}

Task<Status> list_running(ControlCall& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  CLOCHE_CO_TRY(ListQuery wanted, read_old_list_query(query));
  co_return co_await answer_list(call, std::move(wanted));
}

Task<Status> end(ControlCall& call) {
  const std::string_view name = call.path["id"];
  const SandboxPtr sandbox = call.parts.sandboxes.find_remains(call.tenant.name(), sandbox_id_of(name));
  if (!sandbox) co_return no_such_sandbox(name);
  call.exchange.outlive_client();
  auto ended = co_await call.parts.around.sessions.end(call.tenant, sandbox->id, session::EndMode::cut,
                                                       Deadline::after(ending_timeout));
  if (!ended && ended.error().code == ErrorCode::not_found) co_return no_such_sandbox(sandbox->id);
  if (!ended) co_return ended;
  call.parts.sandboxes.forget(sandbox->id);
  co_return co_await answer_nothing(call.exchange);
}

}  // namespace

void add_sandbox_routes(ControlRouter& router) {
  router.add("POST", "/sandboxes", [](ControlCall& call) { return create(ApiVersion::v1, call); });
  router.add("POST", "/v2/sandboxes", [](ControlCall& call) { return create(ApiVersion::v2, call); });
  router.add("POST", "/sandboxes/{id}/connect", [](ControlCall& call) { return connect(ApiVersion::v1, call); });
  router.add("POST", "/v2/sandboxes/{id}/connect", [](ControlCall& call) { return connect(ApiVersion::v2, call); });
  router.add("POST", "/sandboxes/{id}/resume", [](ControlCall& call) { return resume_paused(call); });
  router.add("GET", "/sandboxes/{id}", [](ControlCall& call) { return show_one(call); });
  router.add("GET", "/sandboxes", [](ControlCall& call) { return list_running(call); });
  router.add("GET", "/v2/sandboxes", [](ControlCall& call) { return list(call); });
  router.add("DELETE", "/sandboxes/{id}", [](ControlCall& call) { return end(call); });
}

}  // namespace cloche::dialect::e2b
