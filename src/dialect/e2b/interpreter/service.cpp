#include "dialect/e2b/interpreter/service.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/errors.hpp"
#include "dialect/e2b/interpreter/bodies.hpp"
#include "dialect/e2b/interpreter/execution.hpp"
#include "dialect/e2b/interpreter/kernels.hpp"
#include "http/server/request/json_body.hpp"
#include "sandbox/spec.hpp"

namespace cloche::dialect::e2b {

namespace {

namespace json = boost::json;

// An interpreter starts in well under a second, unless the sandbox is at its limits.
constexpr std::chrono::seconds kernel_timeout{60};
// Code may have data in it.
constexpr Bytes longest_body = mib(8);

json::object kernel_json(const Kernel& kernel) {
  json::object body;
  body["id"] = kernel.id;
  body["language"] = session::to_string(kernel.language);
  body["cwd"] = kernel.cwd;
  return body;
}

Task<Status> show_health(DataCall& call, const http::PathParameters&) {
  co_return co_await http::respond_json(call.exchange, 200, json::value("OK"));
}

Task<Status> list_kernels(DataCall& call, const http::PathParameters&) {
  json::array all;
  for (const Kernel& kernel : call.use->part<Kernels>().all()) all.push_back(kernel_json(kernel));
  co_return co_await http::respond_json(call.exchange, 200, all);
}

Task<Status> create_kernel(DataCall& call, const http::PathParameters&) {
  auto body = co_await http::read_json(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(ContextBody wanted, read_context_body(*body));
  CLOCHE_CO_TRY(const session::ContextLanguage language, session::parse_context_language(wanted.language));
  if (!wanted.cwd.empty() && !is_clean_absolute_path(wanted.cwd)) {
    co_return fail(ErrorCode::invalid_argument, "cwd must be an absolute path");
  }
  auto made =
      co_await call.use->part<Kernels>().create(language, std::move(wanted.cwd), Deadline::after(kernel_timeout));
  if (!made) co_return fail(std::move(made).error());
  const json::value answer = kernel_json(*made);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> restart_kernel(DataCall& call, const http::PathParameters& path) {
  auto restarted = co_await call.use->part<Kernels>().restart(std::string(path["id"]), Deadline::after(kernel_timeout));
  if (!restarted) co_return restarted;
  co_return co_await http::respond_json(call.exchange, 200, json::value());
}

Task<Status> remove_kernel(DataCall& call, const http::PathParameters& path) {
  call.exchange.outlive_client();
  auto removed = co_await call.use->part<Kernels>().remove(std::string(path["id"]));
  if (!removed) co_return removed;
  co_return co_await http::respond_json(call.exchange, 200, json::value());
}

Result<Kernel*> choose_kernel(Kernels& kernels, const ExecuteBody& body) {
  if (!body.context_id) return kernels.usual(body.language.value_or("python"));
  Kernel* kernel = kernels.find(*body.context_id);
  if (kernel == nullptr) return fail(ErrorCode::not_found, "Context " + *body.context_id + " not found");
  return kernel;
}

Task<Status> execute(DataCall& call, const http::PathParameters&) {
  if (!call.authorized) {
    co_return fail(ErrorCode::permission_denied, "missing or invalid access token of the sandbox (X-Access-Token)");
  }
  http::JsonLimits limits;
  limits.size = longest_body;
  auto body = co_await http::read_json_as<ExecuteBody>(call.exchange, limits, read_execute_body);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(const auth::QuotaTicket ticket, call.use->take(auth::Quota::runs));
  CLOCHE_CO_TRY(const session::Admission stream, call.use->admit_stream());
  Kernels& kernels = call.use->part<Kernels>();
  CLOCHE_CO_TRY(const Kernel* chosen, choose_kernel(kernels, *body));
  const std::string id = chosen->id;
  auto started = co_await kernels.start(id, Deadline::after(kernel_timeout));
  if (!started) co_return started;
  Kernel* kernel = kernels.find(id);
  if (kernel == nullptr) co_return fail(ErrorCode::not_found, "Context " + id + " not found");
  ++kernel->executions;
  Execution execution(call, *kernel, std::move(*body));
  co_return co_await execution.serve();
}

}  // namespace

InterpreterService::InterpreterService() {
  routes_.add("GET", "/health", show_health);
  routes_.add("GET", "/contexts", list_kernels);
  routes_.add("POST", "/contexts", create_kernel);
  routes_.add("POST", "/contexts/{id}/restart", restart_kernel);
  routes_.add("DELETE", "/contexts/{id}", remove_kernel);
  routes_.add("POST", "/execute", execute);
}

Task<> InterpreterService::serve(DataCall& call) const {
  const auto match = routes_.match(call.exchange.method(), call.exchange.target());
  http::Fields plain;
  plain.emplace_back("Content-Type", "text/plain; charset=utf-8");
  if (match.found == nullptr) {
    const unsigned status = match.allowed.empty() ? 404 : 405;
    [[maybe_unused]] auto sent = co_await call.exchange.respond(status, plain, "Not Found");
    co_return;
  }
  auto served = co_await (*match.found)(call, match.parameters);
  if (served || call.exchange.is_answered() || call.exchange.body_failed()) co_return;
  api::log_failure(call.exchange, served.error());
  const api::ErrorAnswer answer = api::answer_for(served.error().code);
  const std::string why = answer.status == 500 ? "internal error" : served.error().message;
  [[maybe_unused]] auto sent = co_await call.exchange.respond(answer.status, plain, why);
}

}  // namespace cloche::dialect::e2b
