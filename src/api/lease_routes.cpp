#include "api/lease_routes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "api/errors.hpp"
#include "api/execute_body.hpp"
#include "api/json_object.hpp"
#include "api/lease_bodies.hpp"
#include "http/server/json_body.hpp"

namespace cloche::api {

namespace {

using http::Exchange;
using http::PathParameters;

// Files travel in JSON, base64 among them.
constexpr http::JsonLimits body_limits{.size = mib(64), .depth = 16};

unsigned status_of(const Error& error) {
  if (error.code == ErrorCode::limit_reached) return 400;
  return answer_for(error.code).status;
}

Task<> answer_detail(Exchange& exchange, unsigned status, std::string detail) {
  json::object body;
  body["detail"] = status == 500 ? "something failed inside" : detail;
  [[maybe_unused]] auto sent = co_await http::respond_json(exchange, status, body);
}

Task<> answer(Exchange& exchange, Result<json::object> body) {
  if (!body) {
    co_await answer_detail(exchange, status_of(body.error()), body.error().message);
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

using Call = std::function<Task<Result<json::object>>(std::shared_ptr<LeaseBook::Entry>, json::value)>;

// A route that does something with the body in a lease.
http::RouteHandler with_lease(LeaseBook& book, Call call) {
  return [&book, call = std::move(call)](Exchange& exchange, const PathParameters& path) -> Task<> {
    auto entry = book.find(std::string(path["id"]));
    if (!entry) {
      co_await answer_detail(exchange, 404, entry.error().message);
      co_return;
    }
    auto body = co_await http::read_json(exchange, body_limits);
    if (!body) {
      const unsigned status = body.error().code == ErrorCode::limit_reached ? 413 : 422;
      co_await answer_detail(exchange, status, body.error().message);
      co_return;
    }
    auto done = co_await call(std::move(*entry), std::move(*body));
    co_await answer(exchange, std::move(done));
  };
}

Task<> lend(LeaseBook& book, const LanguageRegistry& languages, Exchange& exchange, std::string name) {
  const auto language = languages.find(name);
  if (!language) {
    co_await answer_detail(exchange, 422, language.error().message);
    co_return;
  }
  auto id = co_await book.lend(*language);
  if (!id) {
    co_await answer_detail(exchange, status_of(id.error()), id.error().message);
    co_return;
  }
  json::object body;
  body["sandbox_id"] = *id;
  co_await answer(exchange, std::move(body));
}

Task<> read_out(LeaseBook& book, Exchange& exchange, std::string id) {
  auto entry = book.find(id);
  if (!entry) {
    co_await answer_detail(exchange, 404, entry.error().message);
    co_return;
  }
  const auto query = exchange.query();
  const auto wanted = query ? read_file_query(*query) : Result<FileQuery>(std::unexpected(query.error()));
  if (!wanted) {
    co_await answer_detail(exchange, 422, wanted.error().message);
    co_return;
  }
  auto file = co_await (*entry)->container->extract_file(wanted->path, wanted->most);
  if (!file) {
    const unsigned status = file.error().code == ErrorCode::limit_reached ? 400 : status_of(file.error());
    co_await answer_detail(exchange, status, file.error().message);
    co_return;
  }
  co_await answer(exchange, to_json(*file));
}

Task<> execute(runner::CodeRunner& runner, Exchange& exchange) {
  auto body = co_await http::read_json(exchange, body_limits);
  if (!body) {
    co_await answer_detail(exchange, 422, body.error().message);
    co_return;
  }
  auto submission = read_submission(*body);
  if (!submission) {
    co_await answer_detail(exchange, 422, submission.error().message);
    co_return;
  }
  if (auto known = runner.languages().find(submission->program.language); !known) {
    co_await answer_detail(exchange, 422, known.error().message);
    co_return;
  }
  auto report = co_await runner.run(std::move(*submission));
  if (!report) {
    co_await answer_detail(exchange, status_of(report.error()), report.error().message);
    co_return;
  }
  co_await answer(exchange, to_results(*report));
}

json::object stats_of(pool::Manager& manager) {
  json::object all;
  for (const auto& [name, stats] : manager.stats()) {
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

}  // namespace

void add_lease_routes(http::Router<http::RouteHandler>& router, LeaseBook& book, runner::CodeRunner& runner) {
  router.add("POST", "/sandboxes/{language}", [&book, &runner](Exchange& exchange, const PathParameters& path) {
    return lend(book, runner.languages(), exchange, std::string(path["language"]));
  });
  router.add("POST", "/sandboxes/{id}/prepare", with_lease(book, prepare));
  router.add("POST", "/sandboxes/{id}/inject", with_lease(book, inject));
  router.add("POST", "/sandboxes/{id}/run", with_lease(book, run));
  router.add("POST", "/sandboxes/{id}/run-batch", with_lease(book, run_batch));
  router.add("POST", "/sandboxes/{id}/request", with_lease(book, request));
  router.add("GET", "/sandboxes/{id}/files", [&book](Exchange& exchange, const PathParameters& path) {
    return read_out(book, exchange, std::string(path["id"]));
  });
  router.add("DELETE", "/sandboxes/{language}", [&book](Exchange& exchange, const PathParameters& path) {
    auto done = book.give_back(std::string(path["language"]));
    return answer(exchange,
                  done ? Result<json::object>(success()) : Result<json::object>(std::unexpected(done.error())));
  });
  router.add("DELETE", "/sandboxes/{id}/destroy", [&book](Exchange& exchange, const PathParameters& path) {
    auto done = book.destroy(std::string(path["id"]));
    return answer(exchange,
                  done ? Result<json::object>(success()) : Result<json::object>(std::unexpected(done.error())));
  });
  router.add("GET", "/stats", [&runner](Exchange& exchange, const PathParameters&) {
    return answer(exchange, stats_of(runner.manager()));
  });
  router.add("POST", "/api/v1/execute",
             [&runner](Exchange& exchange, const PathParameters&) { return execute(runner, exchange); });
}

}  // namespace cloche::api
