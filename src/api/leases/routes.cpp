#include "api/leases/routes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "api/errors.hpp"
#include "api/json_object.hpp"
#include "api/leases/bodies.hpp"
#include "api/leases/execute_body.hpp"
#include "http/server/json_body.hpp"

namespace cloche::api {

namespace {

using http::Exchange;

// Files travel in JSON, base64 among them.
constexpr http::JsonLimits body_limits{.size = mib(64), .depth = 16};

unsigned status_of(const Error& error) {
  if (error.code == ErrorCode::limit_reached) return 400;
  return answer_for(error.code).status;
}

Task<> answer_detail(Exchange& exchange, unsigned status, std::string detail) {
  json::object body;
  body["detail"] = status == 500 ? "something failed inside" : detail;
  http::Fields fields;
  fields.emplace_back("Content-Type", "application/json");
  if (status == 503) fields.emplace_back("Retry-After", "1");
  std::string text = json::serialize(body);
  [[maybe_unused]] auto sent = co_await exchange.respond(status, std::move(fields), std::move(text));
}

Task<> answer_failure(Exchange& exchange, Error error) {
  log_failure(exchange, error);
  co_await answer_detail(exchange, status_of(error), std::move(error.message));
}

Task<> answer(Exchange& exchange, Result<json::object> body) {
  if (!body) {
    Error error = std::move(body).error();
    co_await answer_failure(exchange, std::move(error));
    co_return;
  }
  [[maybe_unused]] auto sent = co_await http::respond_json(exchange, 200, *body);
}

json::object success() {
  json::object body;
  body["status"] = "success";
  return body;
}

Task<Result<json::object>> prepare(std::shared_ptr<LeaseBook::Entry> entry, json::value body) {
  CLOCHE_CO_TRY(FileTree files, read_submission_files(body));
  auto prepared = co_await entry->container->prepare_workdir(std::move(files));
  if (!prepared) co_return fail(std::move(prepared).error());
  co_return success();
}

Task<Result<json::object>> inject(std::shared_ptr<LeaseBook::Entry> entry, json::value body) {
  CLOCHE_CO_TRY(auto assets, read_assets(body, "resolved_assets"));
  auto injected = co_await entry->container->inject_assets(std::move(assets));
  if (!injected) co_return fail(std::move(injected).error());
  co_return success();
}

Task<Result<json::object>> run(std::shared_ptr<LeaseBook::Entry> entry, json::value body) {
  CLOCHE_CO_TRY(CommandCall call, read_command(body));
  auto ran = co_await entry->container->run_command(std::move(call.command), std::move(call.options));
  if (!ran) co_return fail(std::move(ran).error());
  co_return to_json(*ran);
}

Task<Result<json::object>> run_batch(std::shared_ptr<LeaseBook::Entry> entry, json::value body) {
  CLOCHE_CO_TRY(BatchCall call, read_batch(body));
  auto ran =
      co_await entry->container->run_commands(std::move(call.lines), std::move(call.program), std::move(call.options));
  if (!ran) co_return fail(std::move(ran).error());
  co_return to_json(*ran);
}

Task<Result<json::object>> request(std::shared_ptr<LeaseBook::Entry> entry, json::value body) {
  CLOCHE_CO_TRY(AppRequest call, read_app_request(body));
  auto answered = co_await entry->container->make_request(std::move(call));
  if (!answered) co_return fail(std::move(answered).error());
  co_return to_json(*answered);
}

// What a route does with the body in a lease.
using LeaseWork = std::function<Task<Result<json::object>>(std::shared_ptr<LeaseBook::Entry>, json::value)>;

// A place among the tenant's runs, leases, file operations. Where there is none the answer has been given, and the
// error says so.
Task<Result<auth::QuotaTicket>> take_ticket(auth::Quotas& quotas, auth::Quota quota, Call& call) {
  CLOCHE_CO_TRY(const auth::AuthorizedTenant tenant, call.tenant(std::nullopt));
  auto ticket = quotas.take(tenant, quota);
  if (ticket) co_return std::move(*ticket);
  auth::OverQuota over = std::move(ticket).error();
  Error error = over;
  co_await answer_over_quota(call.exchange, std::move(over), ErrorForm::detail);
  co_return fail(std::move(error));
}

Task<Status> work_in_lease(LeaseBook& book, auth::Quotas& quotas, auth::Quota counted, const LeaseWork& work,
                           Call& call) {
  auto entry = book.find(std::string(call.path["id"]), call.principal.tenant);
  if (!entry) {
    co_await answer_detail(call.exchange, 404, entry.error().message);
    co_return Status{};
  }
  auto body = co_await http::read_json(call.exchange, body_limits);
  if (!body) {
    const unsigned status = body.error().code == ErrorCode::limit_reached ? 413 : 422;
    co_await answer_detail(call.exchange, status, body.error().message);
    co_return Status{};
  }
  CLOCHE_CO_TRY(const auth::QuotaTicket ticket, co_await take_ticket(quotas, counted, call));
  auto done = co_await work(std::move(*entry), std::move(*body));
  co_await answer(call.exchange, std::move(done));
  co_return Status{};
}

// One that is there for the caller's tenant.
Result<Language> find_language(const runner::CodeRunner& runner, const Call& call, std::string_view name) {
  return runner.languages().find_for(runner.manager().access(), call.principal.tenant, name);
}

Task<Status> lend(LeaseBook& book, const runner::CodeRunner& runner, auth::Quotas& quotas, Call& call) {
  const auto language = find_language(runner, call, call.path["language"]);
  if (!language) {
    co_await answer_detail(call.exchange, 422, language.error().message);
    co_return Status{};
  }
  book.forget_ended();
  CLOCHE_CO_TRY(auth::QuotaTicket ticket, co_await take_ticket(quotas, auth::Quota::leases, call));
  std::string tenant = call.principal.tenant;
  auto id = co_await book.lend(*language, std::move(tenant), std::move(ticket));
  if (!id) {
    Error error = std::move(id).error();
    co_await answer_failure(call.exchange, std::move(error));
    co_return Status{};
  }
  json::object body;
  body["sandbox_id"] = *id;
  co_await answer(call.exchange, std::move(body));
  co_return Status{};
}

Task<Status> read_out(LeaseBook& book, auth::Quotas& quotas, Call& call) {
  Exchange& exchange = call.exchange;
  auto entry = book.find(std::string(call.path["id"]), call.principal.tenant);
  if (!entry) {
    co_await answer_detail(exchange, 404, entry.error().message);
    co_return Status{};
  }
  const auto query = exchange.query();
  const auto wanted = query ? read_file_query(*query) : Result<FileQuery>(std::unexpected(query.error()));
  if (!wanted) {
    co_await answer_detail(exchange, 422, wanted.error().message);
    co_return Status{};
  }
  CLOCHE_CO_TRY(const auth::QuotaTicket ticket, co_await take_ticket(quotas, auth::Quota::files, call));
  auto file = co_await (*entry)->container->extract_file(wanted->path, wanted->most);
  if (!file) {
    Error error = std::move(file).error();
    co_await answer_failure(exchange, std::move(error));
    co_return Status{};
  }
  co_await answer(exchange, to_json(*file));
  co_return Status{};
}

Task<Status> execute(runner::CodeRunner& runner, auth::Quotas& quotas, Call& call) {
  Exchange& exchange = call.exchange;
  auto body = co_await http::read_json(exchange, body_limits);
  if (!body) {
    co_await answer_detail(exchange, 422, body.error().message);
    co_return Status{};
  }
  auto submission = read_submission(*body);
  if (!submission) {
    co_await answer_detail(exchange, 422, submission.error().message);
    co_return Status{};
  }
  if (auto known = find_language(runner, call, submission->program.language); !known) {
    co_await answer_detail(exchange, 422, known.error().message);
    co_return Status{};
  }
  submission->tenant = call.principal.tenant;
  CLOCHE_CO_TRY(const auth::QuotaTicket ticket, co_await take_ticket(quotas, auth::Quota::runs, call));
  auto report = co_await runner.run(std::move(*submission));
  if (!report) {
    Error error = std::move(report).error();
    co_await answer_failure(exchange, std::move(error));
    co_return Status{};
  }
  co_await answer(exchange, to_results(*report));
  co_return Status{};
}

Task<Status> end_lease(Exchange& exchange, Status ended) {
  Result<json::object> body = success();
  if (!ended) body = fail(std::move(ended).error());
  co_await answer(exchange, std::move(body));
  co_return Status{};
}

// An admin sees all pools, a tenant those that it may use.
json::object stats_of(const pool::Manager& manager, const auth::Principal& principal) {
  json::object all;
  for (const auto& [name, stats] : manager.stats()) {
    const bool is_there =
        principal.role == auth::Role::admin || manager.access().allows(auth::Thing::profile, name, principal.tenant);
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

Task<Status> tell_stats(Call& call, const pool::Manager& manager) {
  Result<json::object> stats = stats_of(manager, call.principal);
  co_await answer(call.exchange, std::move(stats));
  co_return Status{};
}

}  // namespace

void add_lease_routes(http::Router<http::RouteHandler>& router, const FrontDoor& door, LeaseBook& book,
                      runner::CodeRunner& runner, auth::Quotas& quotas) {
  const auto add = [&](std::string method, std::string_view pattern, CallHandler handler) {
    router.add(std::move(method), pattern, door.guard(std::move(handler), ErrorForm::detail));
  };
  const auto add_work = [&](std::string_view pattern, auth::Quota counted, LeaseWork work) {
    add("POST", pattern, [&book, &quotas, counted, work = std::move(work)](Call& call) {
      return work_in_lease(book, quotas, counted, work, call);
    });
  };
  add("POST", "/sandboxes/{language}",
      [&book, &runner, &quotas](Call& call) { return lend(book, runner, quotas, call); });
  add_work("/sandboxes/{id}/prepare", auth::Quota::files, prepare);
  add_work("/sandboxes/{id}/inject", auth::Quota::files, inject);
  add_work("/sandboxes/{id}/run", auth::Quota::runs, run);
  add_work("/sandboxes/{id}/run-batch", auth::Quota::runs, run_batch);
  add_work("/sandboxes/{id}/request", auth::Quota::connections, request);
  add("GET", "/sandboxes/{id}/files", [&book, &quotas](Call& call) { return read_out(book, quotas, call); });
  // The same paths as those of {language} above, and so the same name.
  add("DELETE", "/sandboxes/{language}", [&book](Call& call) {
    auto ended = book.give_back(std::string(call.path["language"]), call.principal.tenant);
    return end_lease(call.exchange, std::move(ended));
  });
  add("DELETE", "/sandboxes/{id}/destroy", [&book](Call& call) {
    auto ended = book.destroy(std::string(call.path["id"]), call.principal.tenant);
    return end_lease(call.exchange, std::move(ended));
  });
  add("GET", "/stats", [&runner](Call& call) { return tell_stats(call, runner.manager()); });
  add("POST", "/api/v1/execute", [&runner, &quotas](Call& call) { return execute(runner, quotas, call); });
}

}  // namespace cloche::api
