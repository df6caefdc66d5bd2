#include "api/runs/routes.hpp"

#include <boost/json/array.hpp>

#include "api/runs/bodies.hpp"
#include "api/runs/events.hpp"
#include "api/session_access.hpp"
#include "core/utf8.hpp"
#include "http/server/request/json_body.hpp"
#include "session/runs/runs.hpp"
#include "session/unless_paused.hpp"

namespace cloche::api {

namespace {

using session::Run;
using session::RunRequest;
using session::Runs;
using session::SessionKey;
using session::SessionStore;
using session::SessionUse;

// Code and files travel in JSON, base64 among them.
constexpr http::JsonLimits body_limits{.size = mib(64), .depth = 16, .values = 50'000, .shape = &run_body_shape};
constexpr std::chrono::seconds removal_timeout{30};
// To compile a program and start it in the background.
constexpr std::chrono::minutes start_timeout{5};

struct RunService {
  SessionStore& store;
  const LanguageRegistry& languages;
  const auth::AccessTable& access;
  auth::Quotas& quotas;
};

// Stops a run whose client is gone.
class StopUnlessEnded {
 public:
  explicit StopUnlessEnded(std::shared_ptr<Run> run) : run_(std::move(run)) {}
  StopUnlessEnded(const StopUnlessEnded&) = delete;
  StopUnlessEnded& operator=(const StopUnlessEnded&) = delete;
  ~StopUnlessEnded() {
    if (run_) run_->stop("the client disconnected");
  }
  void let_it_go_on() { run_.reset(); }

 private:
  std::shared_ptr<Run> run_;
};

// The client does not wait for the session to be resumed.
std::unexpected<Error> paused(const Run& run, const SessionKey& key) {
  Error error = session::Session::paused_error(key);
  error.message += "; run '" + run.id() + "' continues then";
  return fail(std::move(error));
}

// Before a session is made for it.
Status check_language(const RunService& service, const auth::AuthorizedTenant& tenant, const session::RunCall& call) {
  const auto* request = std::get_if<RunRequest>(&call);
  const auto* code = request != nullptr ? std::get_if<session::Code>(&request->what) : nullptr;
  if (code == nullptr) return {};
  CLOCHE_CHECK(service.languages.find_for(service.access, tenant.name(), code->language));
  return {};
}

// A run that was started before: it is never started again.
Task<Status> resume(RunService& service, Call& call, const auth::AuthorizedTenant& tenant, std::string session,
                    EventPlace from) {
  CLOCHE_CO_TRY(const SessionUse use, service.store.find(tenant, session));
  CLOCHE_CO_TRY(Runs* const runs, co_await Runs::of(use));
  CLOCHE_CO_TRY(auto run, runs->find(from.run));
  CLOCHE_CO_TRY(const session::Admission following, use->admit_stream());
  SessionKey key{tenant.name(), std::move(session)};
  auto served = co_await stream_run(call, std::move(run), std::move(key), from.position);
  co_return served;
}

Task<Status> answer_ended(Call& call, const Run& run, const SessionKey& key, unsigned status) {
  if (const auto* error = std::get_if<Error>(run.log().how())) co_return fail(*error);
  // A run that has ended does not change any more, so another thread may read it.
  std::function<json::value()> make = [&run, &key] { return result_json(run, key, Printed::included); };
  co_return co_await http::respond_json(call.exchange, status, std::move(make), printed_size(run));
}

Task<Status> start_in_background(RunService& service, Call& call, const SessionUse& use, Runs& runs, RunRequest request,
                                 auth::QuotaTicket ticket, SessionKey key) {
  auto starting = runs.start_background(use, service.languages, std::move(request), std::move(ticket),
                                        Deadline::after(start_timeout));
  auto started = co_await session::unless_paused(*use, std::move(starting));
  if (!started) co_return fail(std::move(started).error());
  const auto run = std::move(*started);
  if (!run->running()) co_return co_await answer_ended(call, *run, key, 200);  // it could not be compiled
  json::object answer;
  answer["run_id"] = run->id();
  answer["state"] = "running";
  answer["tenant_id"] = key.tenant;
  answer["session_id"] = key.id;
  co_return co_await http::respond_json(call.exchange, 202, answer);
}

Task<Status> run(RunService& service, Call& call, RunBody wanted) {
  CLOCHE_CO_TRY(const auto tenant, call.tenant(wanted.where.tenant));
  const bool as_events = accepts(call.exchange, "text/event-stream");
  const std::string_view last_seen = call.exchange.field("Last-Event-ID");
  if (as_events && !last_seen.empty()) {
    CLOCHE_CO_TRY(EventPlace from, parse_event_id(last_seen));
    std::string session = wanted.where.session;
    co_return co_await resume(service, call, tenant, std::move(session), std::move(from));
  }
  CLOCHE_CO_CHECK(check_language(service, tenant, wanted.call));
  auto ticket = service.quotas.begin_run(tenant);
  if (!ticket) {
    auth::OverQuota over = std::move(ticket).error();
    co_await answer_over_quota(call.exchange, std::move(over));
    co_return Status{};
  }
  SessionKey key{tenant.name(), wanted.where.session};
  auto used = co_await service.store.use(tenant, key.id, Deadline::after(session_timeout), std::move(wanted.network));
  if (!used) co_return fail(std::move(used).error());
  const SessionUse use = std::move(*used);
  CLOCHE_CO_TRY(Runs* const runs, co_await Runs::of(use));
  if (wanted.lifetime == Lifetime::background) {
    RunRequest request = std::get<RunRequest>(std::move(wanted.call));
    auto answered =
        co_await start_in_background(service, call, use, *runs, std::move(request), std::move(*ticket), std::move(key));
    co_return answered;
  }
  session::Admission following;
  if (as_events) {
    CLOCHE_CO_TRY(following, use->admit_stream());
  }
  session::RunStart start;
  start.call = std::move(wanted.call);
  start.ticket = std::move(*ticket);
  if (as_events) start.unattended = session::Unattended::cancelled;
  start.on_process = call.exchange.release_of_body();  // code and files are in the sandbox
  CLOCHE_CO_TRY(const auto started, runs->start(use, service.languages, std::move(start)));
  if (as_events) {
    constexpr std::uint64_t beginning = 0;
    auto served = co_await stream_run(call, started, std::move(key), beginning);
    co_return served;
  }
  StopUnlessEnded stop(started);
  const bool ended = co_await started->wait(Deadline::never());
  if (!ended) {
    stop.let_it_go_on();
    co_return paused(*started, key);
  }
  auto answered = co_await answer_ended(call, *started, key, 200);
  co_return answered;
}

using ReadBody = Result<RunBody> (*)(const json::value&);

Task<Status> read_and_run(RunService service, Call& call, ReadBody read) {
  auto wanted = co_await http::read_json_as<RunBody>(call.exchange, body_limits, read);
  if (!wanted) co_return fail(std::move(wanted).error());
  auto served = co_await run(service, call, std::move(*wanted));
  co_return served;
}

// The common start of the routes below /sessions/{tenant}/{session}/runs.
struct Opened {
  SessionUse use;
  Runs* runs;
};

Task<Result<Opened>> open_runs(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(SessionUse use, find_session(call, store));
  CLOCHE_CO_TRY(Runs* const runs, co_await Runs::of(use));
  Opened opened{std::move(use), runs};
  co_return opened;
}

// A run that is still running is described briefly and immediately.
Task<Status> answer_state(Call& call, const Run& run, const SessionKey& key) {
  std::function<json::value()> make = [&run, &key] { return state_json(run, key); };
  co_return co_await http::respond_json(call.exchange, 200, std::move(make), printed_size(run));
}

std::string run_id(const Call& call) { return std::string(call.path["run"]); }

Task<Status> list(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(const Opened opened, co_await open_runs(store, call));
  json::array runs;
  for (const auto& run : opened.runs->list()) runs.push_back(summary_json(*run));
  json::object answer;
  answer["runs"] = std::move(runs);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> show(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(const Opened opened, co_await open_runs(store, call));
  CLOCHE_CO_TRY(const auto run, opened.runs->find(run_id(call)));
  auto answered = co_await answer_state(call, *run, opened.use->key());
  co_return answered;
}

Task<Status> events(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(Opened opened, co_await open_runs(store, call));
  CLOCHE_CO_TRY(auto run, opened.runs->find(run_id(call)));
  EventPlace from{run->id(), 0};
  if (const auto last_seen = call.exchange.field("Last-Event-ID"); !last_seen.empty()) {
    CLOCHE_CO_TRY(from, parse_event_id(last_seen));
    if (from.run != run->id()) co_return fail(ErrorCode::invalid_argument, "Last-Event-ID belongs to another run");
  }
  CLOCHE_CO_TRY(const session::Admission following, opened.use->admit_stream());
  auto served = co_await stream_run(call, std::move(run), opened.use->key(), from.position);
  co_return served;
}

Task<Status> output(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  CLOCHE_CO_TRY(const OutputQuery wanted, read_output_query(query));
  CLOCHE_CO_TRY(const Opened opened, co_await open_runs(store, call));
  CLOCHE_CO_TRY(const auto run, opened.runs->find(run_id(call)));
  const std::string& all = run->log().output(wanted.stream);
  const std::uint64_t offset = std::min<std::uint64_t>(wanted.offset, all.size());
  std::string_view part = std::string_view(all).substr(offset, wanted.limit);
  const std::string_view state = run->running() ? "running" : "ended";
  if (accepts(call.exchange, "application/octet-stream")) {
    http::Fields fields;
    fields.emplace_back("Content-Type", "application/octet-stream");
    fields.emplace_back("X-Content-Type-Options", "nosniff");
    fields.emplace_back("Cloche-Next-Offset", std::to_string(offset + part.size()));
    fields.emplace_back("Cloche-Run-State", std::string(state));
    std::string bytes(part);
    co_return co_await call.exchange.respond(200, std::move(fields), std::move(bytes));
  }
  // Does not split a character if the rest of it is available or may follow.
  const bool is_last = offset + part.size() == all.size() && !run->running();
  if (const auto tail = incomplete_tail(part); !is_last && tail < part.size()) part.remove_suffix(tail);
  // A copy: the program may print on while another thread writes the answer.
  std::function<json::value()> make = [wanted, offset, state, content = std::string(part), size = all.size()] {
    json::object answer;
    answer["stream"] = wanted.stream == Stream::out ? "stdout" : "stderr";
    answer["offset"] = offset;
    put_bytes(answer, "content", content);
    answer["next_offset"] = offset + content.size();
    answer["size"] = size;
    answer["state"] = state;
    return answer;
  };
  const std::size_t weight = part.size();
  co_return co_await http::respond_json(call.exchange, 200, std::move(make), weight);
}

Task<Status> signal(SessionStore& store, Call& call) {
  auto body = co_await http::read_json(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(const int number, read_signal_body(*body));
  CLOCHE_CO_TRY(const Opened opened, co_await open_runs(store, call));
  CLOCHE_CO_TRY(const auto run, opened.runs->find(run_id(call)));
  CLOCHE_CO_CHECK(run->signal(number));
  const json::value answer = summary_json(*run);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> wait(SessionStore& store, Call& call) {
  json::value body = json::object();
  if (call.exchange.has_body()) {
    auto given = co_await http::read_json(call.exchange);
    if (!given) co_return fail(std::move(given).error());
    body = std::move(*given);
  }
  CLOCHE_CO_TRY(const auto timeout, read_wait_body(body));
  CLOCHE_CO_TRY(const Opened opened, co_await open_runs(store, call));
  CLOCHE_CO_TRY(const auto run, opened.runs->find(run_id(call)));
  CLOCHE_CO_TRY(const session::Admission following, opened.use->admit_stream());
  const bool ended = co_await run->wait(Deadline::after(timeout));
  if (!ended && run->is_paused()) co_return paused(*run, opened.use->key());
  auto answered = co_await answer_state(call, *run, opened.use->key());
  co_return answered;
}

Task<Status> remove(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(const Opened opened, co_await open_runs(store, call));
  call.exchange.outlive_client();
  std::string id = run_id(call);
  auto removed = co_await opened.runs->remove(id, Deadline::after(removal_timeout));
  if (!removed) co_return removed;
  json::object answer;
  answer["status"] = "removed";
  answer["run_id"] = id;
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

}  // namespace

void add_run_routes(CallRouter& router, SessionStore& store, const LanguageRegistry& languages,
                    const auth::AccessTable& access, auth::Quotas& quotas) {
  const RunService service{store, languages, access, quotas};
  router.add("POST", "/execute", [service](Call& call) { return read_and_run(service, call, read_execute_body); });
  router.add("POST", "/bash", [service](Call& call) { return read_and_run(service, call, read_bash_body); });
  const std::string runs = "/sessions/{tenant}/{session}/runs";
  const auto add = [&](const char* method, const std::string& below, Task<Status> (*serve)(SessionStore&, Call&)) {
    router.add(method, runs + below, [&store, serve](Call& call) { return serve(store, call); });
  };
  add("GET", "", list);
  add("GET", "/{run}", show);
  add("GET", "/{run}/events", events);
  add("GET", "/{run}/output", output);
  add("POST", "/{run}/signal", signal);
  add("POST", "/{run}/wait", wait);
  add("DELETE", "/{run}", remove);
}

}  // namespace cloche::api
