#include <boost/json/array.hpp>

#include "dialect/e2b/control/bodies.hpp"
#include "dialect/e2b/control/listing.hpp"
#include "dialect/e2b/control/routes.hpp"
#include "dialect/e2b/errors.hpp"
#include "http/server/request/json_body.hpp"
#include "json/write_json.hpp"

namespace cloche::dialect::e2b {

namespace {

using snapshot::SnapshotInfo;
using std::chrono::system_clock;

constexpr std::chrono::minutes taking_timeout{10};
constexpr std::chrono::minutes forking_timeout{20};

json::object to_snapshot_json(const SnapshotInfo& info) {
  json::object body;
  body["snapshotID"] = info.id;
  json::array names;
  if (!info.name.empty()) names.emplace_back(info.name);
  body["names"] = std::move(names);
  return body;
}

Task<Status> take_snapshot(ControlCall& call) {
  auto body = co_await read_body(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  snapshot::TakeRequest wanted;
  CLOCHE_CO_TRY(wanted.name, read_snapshot_name(*body));
  CLOCHE_CO_TRY(const SandboxPtr sandbox, find_sandbox(call));
  CLOCHE_CO_TRY(const session::SessionUse use, call.parts.around.sessions.find(call.tenant, sandbox->id));
  CLOCHE_CO_TRY(const auth::QuotaTicket file, use->take(auth::Quota::files));
  const Gate::Pass turn = co_await use->begin_file_operation();
  wanted.session = sandbox->id;
  wanted.profile = use->profile().name;
  auto taken = co_await call.parts.around.snapshots.take(call.tenant, std::move(wanted), use->lease(),
                                                         Deadline::after(taking_timeout));
  if (!taken) co_return fail(std::move(taken).error());
  sandbox->log.add("info", "snapshot taken", {{"snapshot", taken->id}});
  const json::object answer = to_snapshot_json(*taken);
  co_return co_await http::respond_json(call.exchange, 201, answer);
}

Cursor place_of_snapshot(const SnapshotInfo& info) { return {info.created, info.id}; }

// The newest first.
Task<Status> list_snapshots(ControlCall& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  CLOCHE_CO_TRY(const PageQuery page, read_page_query(query));
  const std::string sandbox(query.find("sandboxID").value_or(""));
  const std::string name(query.find("name").value_or(""));
  auto found = co_await call.parts.around.snapshots.list(call.tenant.name());
  if (!found) co_return fail(std::move(found).error());
  std::vector<SnapshotInfo> all = std::move(found->snapshots);
  std::erase_if(all, [&](const SnapshotInfo& each) {
    if (!sandbox.empty() && each.session != sandbox) return true;
    if (!name.empty() && each.name != name && each.id != name) return true;
    return page.after && !(place_of_snapshot(each) < *page.after);
  });
  std::ranges::sort(all, std::greater<>(), place_of_snapshot);
  http::Fields fields;
  fields.emplace_back("Content-Type", "application/json");
  if (all.size() > page.limit) {
    all.resize(page.limit);
    fields.emplace_back("x-next-token", to_text(place_of_snapshot(all.back())));
  }
  json::array entries;
  for (const SnapshotInfo& each : all) entries.push_back(to_snapshot_json(each));
  std::string text = write_json(entries);
  co_return co_await call.exchange.respond(200, std::move(fields), std::move(text));
}

// Templates other than snapshots are the operator's.
Task<Status> remove_snapshot(ControlCall& call) {
  CLOCHE_CO_TRY(const std::string alias, template_alias(std::string(call.path["id"])));
  auto found = co_await call.parts.around.snapshots.find(call.tenant, alias);
  if (!found) co_return fail(std::move(found).error());
  auto removed = co_await call.parts.around.snapshots.remove(call.tenant, found->id);
  if (!removed) co_return removed;
  co_return co_await answer_nothing(call.exchange);
}

json::object fork_json(ControlCall& call, const Sandbox& origin, const Result<session::SessionInfo>& made) {
  json::object entry;
  Error error;
  if (made) {
    const SandboxPtr sandbox = call.parts.sandboxes.add(call.tenant, made->key.id, origin.attributes);
    sandbox->log.add("info", "sandbox created as a copy", {{"origin", origin.id}});
    auto shown = show(call.parts, *sandbox, *made, &to_connection_json);
    if (shown) {
      entry["sandbox"] = *std::move(shown);
      return entry;
    }
    error = std::move(shown).error();
  } else {
    error = made.error();
  }
  json::object failure;
  failure["code"] = status_of(error.code);
  failure["message"] = error.message;
  entry["error"] = std::move(failure);
  return entry;
}

Task<Status> fork_sandbox(ControlCall& call) {
  Parts& parts = call.parts;
  auto body = co_await read_body(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  const TimeoutRule rule{.most = parts.settings.max_timeout};
  CLOCHE_CO_TRY(const ForkBody wanted, read_fork(*body, rule));
  CLOCHE_CO_TRY(const SandboxPtr origin, find_sandbox(call));
  session::ForkRequest request;
  request.count = wanted.count;
  for (std::uint32_t i = 0; i < wanted.count; ++i) request.ids.push_back(parts.sandboxes.new_id());
  const auto timeout = wanted.timeout.value_or(origin->attributes.timeout);
  request.change = [timeout](session::SessionOptions& options) { options.expires = system_clock::now() + timeout; };
  auto forks = co_await parts.around.sessions.fork(call.tenant, origin->id, std::move(request),
                                                   Deadline::after(forking_timeout));
  if (!forks) co_return fail(std::move(forks).error());
  json::array answer;
  for (const auto& each : *forks) {
    if (each) co_await mark_sandbox(parts, call.tenant, each->key.id);
    answer.push_back(fork_json(call, *origin, each));
  }
  co_return co_await http::respond_json(call.exchange, 201, answer);
}

}  // namespace

void add_snapshot_routes(ControlRouter& router) {
  router.add("POST", "/sandboxes/{id}/snapshots", [](ControlCall& call) { return take_snapshot(call); });
  router.add("GET", "/snapshots", [](ControlCall& call) { return list_snapshots(call); });
  router.add("DELETE", "/templates/{id}", [](ControlCall& call) { return remove_snapshot(call); });
  router.add("POST", "/sandboxes/{id}/fork", [](ControlCall& call) { return fork_sandbox(call); });
}

}  // namespace cloche::dialect::e2b
