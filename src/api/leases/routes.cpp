#include "api/leases/routes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/detail.hpp"
#include "api/leases/bodies.hpp"
#include "api/leases/execute_body.hpp"
#include "http/server/request/json_body.hpp"
#include "json/json_object.hpp"

namespace cloche::api {

namespace {

using http::Exchange;

// Files travel in JSON, base64 among them.
constexpr http::JsonLimits body_limits{.size = mib(64), .depth = 16, .values = 200'000, .shape = &lease_body_shape};
constexpr std::chrono::milliseconds default_execute_wall{30'000};

// The response of a route.
using Answer = DetailResult<json::object>;

Task<> answer(Exchange& exchange, Answer body) {
  if (!body) {
    DetailError error = std::move(body).error();
    co_await answer_detail_error(exchange, std::move(error));
    co_return;
  }
  [[maybe_unused]] auto sent = co_await http::respond_json(exchange, 200, *body);
}

// A body of another form is 422; what could not be read has a status of its own, which answer_detail_error knows.
template <class Body>
Task<DetailResult<Body>> read_lease_body(Exchange& exchange, Result<Body> (*read)(const json::value&)) {
  auto body = co_await http::read_json_as<Body>(exchange, body_limits, read);
  if (!body) co_return unprocessable(std::move(body).error());
  co_return std::move(*body);
}

// The response body, created where it does not block others; `size` is its approximate size.
template <class Told>
Task<Answer> tell(Exchange& exchange, std::size_t size, Told told) {
  auto make = [told = std::move(told)]() -> Result<json::object> { return to_json(told); };
  auto made = co_await http::run_off_loop(exchange, size, std::move(make));
  if (!made) co_return fail(std::move(made).error());
  co_return std::move(*made);
}

json::object success() {
  json::object body;
  body["status"] = "success";
  return body;
}

using Leased = std::shared_ptr<LeaseRegistry::Entry>;

Task<Answer> prepare(Exchange&, Leased entry, FileTree files) {
  auto prepared = co_await entry->container->prepare_workdir(std::move(files));
  if (!prepared) co_return fail(std::move(prepared).error());
  co_return success();
}

Task<Answer> inject(Exchange&, Leased entry, std::vector<Asset> assets) {
  auto injected = co_await entry->container->inject_assets(std::move(assets));
  if (!injected) co_return fail(std::move(injected).error());
  co_return success();
}

Task<Answer> run(Exchange& exchange, Leased entry, CommandCall call) {
  auto ran = co_await entry->container->run_command(std::move(call.command), std::move(call.options));
  if (!ran) co_return fail(std::move(ran).error());
  const std::size_t size = ran->out.size() + ran->err.size();
  co_return co_await tell(exchange, size, std::move(*ran));
}

Task<Answer> run_batch(Exchange& exchange, Leased entry, BatchCall call) {
  auto ran =
      co_await entry->container->run_commands(std::move(call.lines), std::move(call.program), std::move(call.options));
  if (!ran) co_return fail(std::move(ran).error());
  const std::size_t size = ran->out.size() + ran->err.size();
  co_return co_await tell(exchange, size, std::move(*ran));
}

Task<Answer> request(Exchange& exchange, Leased entry, AppRequest call) {
  auto answered = co_await entry->container->make_request(std::move(call));
  if (!answered) co_return fail(std::move(answered).error());
  const std::size_t size = answered->content.size();
  co_return co_await tell(exchange, size, std::move(*answered));
}

// How a route reads its body, and what it does with it in a lease.
template <class Body>
struct LeaseWork {
  Result<Body> (*read)(const json::value&);
  Task<Answer> (*work)(Exchange&, Leased, Body);
};

// A place among the tenant's runs, leases or file operations. If none is free, the error response has been sent, and
// the error says so.
Task<Result<auth::QuotaTicket>> take_ticket(auth::Quotas& quotas, auth::Quota quota, Call& call) {
  CLOCHE_CO_TRY(const auth::AuthorizedTenant tenant, call.tenant(std::nullopt));
  auto ticket = quotas.take(tenant, quota);
  if (ticket) co_return std::move(*ticket);
  auth::OverQuota over = std::move(ticket).error();
  Error error = over;
  co_await answer_over_quota(call.exchange, std::move(over), ErrorForm::detail);
  co_return fail(std::move(error));
}

template <class Body>
Task<Status> work_in_lease(LeaseRegistry& registry, auth::Quotas& quotas, auth::Quota counted, LeaseWork<Body> how,
                           Call& call) {
  CLOCHE_CO_TRY(auto entry, registry.find(std::string(call.path["id"]), call.principal.tenant));
  auto body = co_await read_lease_body(call.exchange, how.read);
  if (!body) {
    DetailError error = std::move(body).error();
    co_await answer_detail_error(call.exchange, std::move(error));
    co_return Status{};
  }
  CLOCHE_CO_TRY(const auth::QuotaTicket ticket, co_await take_ticket(quotas, counted, call));
  auto done = co_await how.work(call.exchange, std::move(entry), std::move(*body));
  co_await answer(call.exchange, std::move(done));
  co_return Status{};
}

Task<Answer> lend(LeaseRegistry& registry, Language language, std::string tenant, std::optional<NetworkPolicy> network,
                  auth::QuotaTicket ticket) {
  auto id = co_await registry.lend(std::move(language), tenant, std::move(network), std::move(ticket));
  if (!id) {
    // Its clients know a pool that has no more as a 400.
    if (id.error().code == ErrorCode::limit_reached) co_return std::unexpected(DetailError(400, std::move(id).error()));
    co_return fail(std::move(id).error());
  }
  json::object body;
  body["sandbox_id"] = *id;
  if (const auto entry = registry.find(*id, tenant)) body["name"] = (*entry)->lease->spec().name;
  co_return body;
}

Task<Status> lend_call(LeaseRegistry& registry, runner::CodeRunner& runner, auth::Quotas& quotas, Call& call) {
  std::string tenant = call.principal.tenant;
  auto language = runner.find_served(call.path["language"], tenant);
  if (!language) {
    co_await answer(call.exchange, unprocessable(std::move(language).error()));
    co_return Status{};
  }
  std::optional<NetworkPolicy> network;
  if (call.exchange.has_body()) {
    auto body = co_await read_lease_body(call.exchange, read_lease_network);
    if (!body) {
      DetailError error = std::move(body).error();
      co_await answer_detail_error(call.exchange, std::move(error));
      co_return Status{};
    }
    network = std::move(*body);
  }
  registry.forget_ended();
  CLOCHE_CO_TRY(auth::QuotaTicket ticket, co_await take_ticket(quotas, auth::Quota::leases, call));
  auto lent = co_await lend(registry, std::move(*language), std::move(tenant), std::move(network), std::move(ticket));
  co_await answer(call.exchange, std::move(lent));
  co_return Status{};
}

// The size of a file to read, taken from the budget before the file is read.
constexpr Bytes most_held = mib(64);

Task<Answer> read_out(Exchange& exchange, Leased entry, Result<http::Query> query) {
  auto wanted = query ? read_file_query(*query) : Result<FileQuery>(std::unexpected(std::move(query).error()));
  if (!wanted) co_return unprocessable(std::move(wanted).error());
  if (auto held = exchange.hold(std::min(wanted->most, most_held)); !held) co_return fail(std::move(held).error());
  auto file = co_await entry->container->extract_file(wanted->path, wanted->most);
  if (!file) {
    // Larger than `max_bytes`: nothing that trying again would help.
    const bool is_large = file.error().code == ErrorCode::limit_reached;
    if (is_large) co_return std::unexpected(DetailError(400, std::move(file).error()));
    co_return fail(std::move(file).error());
  }
  const std::size_t size = file->content.size();
  co_return co_await tell(exchange, size, std::move(*file));
}

Task<Status> read_out_call(LeaseRegistry& registry, auth::Quotas& quotas, Call& call) {
  CLOCHE_CO_TRY(auto entry, registry.find(std::string(call.path["id"]), call.principal.tenant));
  CLOCHE_CO_TRY(const auth::QuotaTicket ticket, co_await take_ticket(quotas, auth::Quota::files, call));
  auto query = call.exchange.query();
  auto read = co_await read_out(call.exchange, std::move(entry), std::move(query));
  co_await answer(call.exchange, std::move(read));
  co_return Status{};
}

// The time limit of a run: the configured limit of the language, or else what these clients expect, limited by
// running_timeout.
std::chrono::milliseconds wall_of(const Language& language, const Profile& profile) {
  const auto lent = profile.pool.running_timeout;
  return language.run_limits_set.wall.value_or(std::min(default_execute_wall, lent - lent / 10));
}

std::size_t size_of(const Report& report) {
  std::size_t size = report.compile.out.size() + report.compile.err.size();
  for (const CaseReport& each : report.cases) size += each.out.size() + each.err.size();
  return size;
}

Task<Answer> execute(Exchange& exchange, runner::CodeRunner& runner, std::string tenant, Submission submission) {
  auto language = runner.find_served(submission.program.language, tenant);
  if (!language) co_return unprocessable(std::move(language).error());
  CLOCHE_CO_TRY(const auto place, runner::StepPool::find(runner.manager(), *language, tenant));
  const auto wall = wall_of(*language, place.options());
  submission.program.run_limits.wall = wall;
  submission.tenant = std::move(tenant);
  auto report = co_await runner.run(std::move(submission));
  if (!report) co_return fail(std::move(report).error());
  const std::size_t size = size_of(*report);
  auto make = [report = std::move(*report), wall]() -> Result<json::object> { return to_results(report, wall); };
  auto results = co_await http::run_off_loop(exchange, size, std::move(make));
  if (!results) co_return fail(std::move(results).error());
  co_return std::move(*results);
}

Task<Status> execute_call(runner::CodeRunner& runner, auth::Quotas& quotas, Call& call) {
  auto body = co_await read_lease_body(call.exchange, read_submission);
  if (!body) {
    DetailError error = std::move(body).error();
    co_await answer_detail_error(call.exchange, std::move(error));
    co_return Status{};
  }
  CLOCHE_CO_TRY(const auth::QuotaTicket ticket, co_await take_ticket(quotas, auth::Quota::runs, call));
  std::string tenant = call.principal.tenant;
  auto done = co_await execute(call.exchange, runner, std::move(tenant), std::move(*body));
  co_await answer(call.exchange, std::move(done));
  co_return Status{};
}

json::object stats_of(const pool::Manager& manager, const auth::Principal& principal) {
  json::object all;
  for (const auto& [name, stats] : manager.stats()) {
    const bool is_there =
        principal.role == auth::Role::admin || manager.access().allows(auth::Resource::profile, name, principal.tenant);
    if (!is_there) continue;
    json::object pool;
    pool["idle"] = stats.idle;
    pool["active"] = stats.active;
    pool["total"] = stats.total;
    pool["pool_size"] = stats.pool_size;
    pool["scale_limit"] = stats.scale_limit;
    pool["utilization"] = std::round(stats.utilization * 10) / 10;
    all[name] = std::move(pool);
  }
  return all;
}

Task<Status> send_stats(Call& call, const pool::Manager& manager) {
  co_await answer(call.exchange, stats_of(manager, call.principal));
  co_return Status{};
}

Task<Status> end_lease(Exchange& exchange, Status ended) {
  if (!ended) co_return ended;
  co_await answer(exchange, success());
  co_return Status{};
}

}  // namespace

void add_lease_routes(http::Router<http::RouteHandler>& router, const ApiGuard& door, LeaseRegistry& registry,
                      runner::CodeRunner& runner, auth::Quotas& quotas) {
  const auto add = [&](std::string method, std::string_view pattern, CallHandler handler) {
    router.add(std::move(method), pattern, door.guard(std::move(handler), ErrorForm::detail));
  };
  const auto add_work = [&]<class Body>(std::string_view pattern, auth::Quota counted, LeaseWork<Body> how) {
    add("POST", pattern, [&registry, &quotas, counted, how](Call& call) {
      return work_in_lease<Body>(registry, quotas, counted, how, call);
    });
  };
  add("POST", "/sandboxes/{language}",
      [&registry, &runner, &quotas](Call& call) { return lend_call(registry, runner, quotas, call); });
  add_work("/sandboxes/{id}/prepare", auth::Quota::files, LeaseWork<FileTree>{read_submission_files, prepare});
  add_work("/sandboxes/{id}/inject", auth::Quota::files, LeaseWork<std::vector<Asset>>{read_resolved_assets, inject});
  add_work("/sandboxes/{id}/run", auth::Quota::runs, LeaseWork<CommandCall>{read_command, run});
  add_work("/sandboxes/{id}/run-batch", auth::Quota::runs, LeaseWork<BatchCall>{read_batch, run_batch});
  add_work("/sandboxes/{id}/request", auth::Quota::connections, LeaseWork<AppRequest>{read_app_request, request});
  add("GET", "/sandboxes/{id}/files",
      [&registry, &quotas](Call& call) { return read_out_call(registry, quotas, call); });
  // The same paths as those of {language} above, and so the same name.
  add("DELETE", "/sandboxes/{language}", [&registry](Call& call) {
    auto ended = registry.give_back(std::string(call.path["language"]), call.principal.tenant);
    return end_lease(call.exchange, std::move(ended));
  });
  add("DELETE", "/sandboxes/{id}/destroy", [&registry](Call& call) {
    auto ended = registry.destroy(std::string(call.path["id"]), call.principal.tenant);
    return end_lease(call.exchange, std::move(ended));
  });
  add("GET", "/stats", [&runner](Call& call) { return send_stats(call, runner.manager()); });
  add("POST", "/api/v1/execute", [&runner, &quotas](Call& call) { return execute_call(runner, quotas, call); });
}

}  // namespace cloche::api
