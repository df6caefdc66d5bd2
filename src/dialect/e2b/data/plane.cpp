#include "dialect/e2b/data/plane.hpp"

#include "api/admission.hpp"
#include "core/async/first_of.hpp"
#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "dialect/e2b/data/credentials.hpp"
#include "dialect/e2b/data/port_proxy.hpp"
#include "dialect/e2b/errors.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr std::string_view no_token =
    "unauthorized access, please provide a valid access token or method signing if supported";
constexpr std::chrono::seconds resume_timeout{30};
// How many signatures are computed in a second, for all clients: about 20 ms of work.
constexpr double signatures_a_second = 20'000;

// Routes of envd that are also open to clients without the access token: a signature, or nothing, is enough.
bool is_open(const http::Exchange& exchange) {
  const std::string& method = exchange.method();
  const std::string& path = exchange.target().path;
  const bool reads = method == "GET" || method == "HEAD";
  return (path == "/files" && (reads || method == "POST")) || (path == "/health" && reads);
}

std::string_view route_label(std::uint16_t port) {
  if (port == envd_port) return "e2b envd";
  return port == interpreter_port ? "e2b interpreter" : "e2b port";
}

// Requests that start something, for the sandbox's log.
void note(Sandbox& sandbox, const http::Exchange& exchange, const Routed& routed, const std::string& user) {
  const std::string& path = exchange.target().path;
  const bool starts = (routed.port == envd_port && path == "/process.Process/Start") ||
                      (routed.port == interpreter_port && path == "/execute");
  if (!starts) return;
  std::map<std::string, std::string> fields{{"request_id", exchange.request_id()}};
  if (!user.empty()) fields.emplace("user", user);
  sandbox.log.add("info", routed.port == envd_port ? "process started" : "code executed", std::move(fields));
}

}  // namespace

DataPlane::DataPlane(Parts& parts, DataServices services)
    : parts_(parts), services_(std::move(services)), signatures_(signatures_a_second, Clocks().steady) {}

Task<> DataPlane::serve(http::Exchange& exchange, Routed routed) {
  exchange.label("route", std::string(route_label(routed.port)));
  if (!parts_.around.authenticator.needs_token()) {
    // A page that has a host name of its own may be opened from anywhere; all else is for clients, not for pages.
    const bool is_page = routed.by == NamedBy::host && routed.port != envd_port && routed.port != interpreter_port;
    api::HostTest is_ours = [this](std::string_view host) {
      return api::names_this_machine(host) || is_host_of(host, parts_.settings.domain);
    };
    const auto origin = is_page ? Status{} : api::check_call_origin(exchange.fields(), exchange.peer(), is_ours);
    const bool is_local = api::place_of(exchange.peer()) == auth::PeerPlace::local;
    if (!origin || !is_local) {
      std::string why = origin ? "without tokens, only this machine is served" : origin.error().message;
      co_await answer_error(exchange, 403, std::move(why));
      co_return;
    }
  }
  SandboxPtr sandbox = parts_.sandboxes.find(routed.sandbox);
  if (!sandbox) {
    co_await answer_no_sandbox(exchange, routed.sandbox);
    co_return;
  }
  co_await serve_sandbox(exchange, std::move(sandbox), std::move(routed));
}

Task<> DataPlane::serve_signed_file(http::Exchange& exchange) {
  const auto query = exchange.query();
  const auto url = query ? read_signed_url(exchange.method(), *query) : std::nullopt;
  if (!url) {
    co_await answer_error(exchange, 401, "invalid signature");
    co_return;
  }
  if (!signatures_.take(parts_.sandboxes.all().size())) {
    co_await answer_error(exchange, 429, "too many signed requests without a sandbox; retry in a second");
    co_return;
  }
  const SandboxPtr sandbox = find_signed(parts_.sandboxes, *url);
  if (!sandbox) {
    co_await answer_error(exchange, 401, "invalid signature");
    co_return;
  }
  Routed routed;
  routed.to = Destination::sandbox;
  routed.sandbox = sandbox->id;
  routed.port = envd_port;
  co_await serve(exchange, std::move(routed));
}

Task<> DataPlane::serve_sandbox(http::Exchange& exchange, SandboxPtr sandbox, Routed routed) {
  const auto key = check_api_key(parts_, *sandbox);
  if (!key && key.error().reason == auth::Reason::unavailable) {
    co_await answer_error(exchange, 503, key.error().message);
    co_return;
  }
  const std::string_view given = exchange.field("X-Access-Token");
  const bool matches = key && is_same_token(given, sandbox->access_token);
  const bool authorized = sandbox->access_token.empty() ? key.has_value() : matches;
  const bool is_wrong = !given.empty() && !sandbox->access_token.empty() && !matches;
  const bool is_missing = routed.port == envd_port && !authorized && !(key && is_open(exchange));
  const bool is_ours = routed.port == envd_port || routed.port == interpreter_port;
  if ((is_wrong && is_ours) || is_missing) {
    co_await answer_error(exchange, 401, std::string(no_token));
    co_return;
  }
  if (routed.port != envd_port && !sandbox->traffic_token.empty()) {
    const bool may_pass = key && is_same_token(exchange.field("E2b-Traffic-Access-Token"), sandbox->traffic_token);
    if (!may_pass) {
      co_await answer_error(exchange, 403, "the traffic access token is missing or invalid");
      co_return;
    }
  }
  const auth::Principal principal{sandbox->tenant.name(), auth::Role::user, sandbox->attributes.api_key};
  auto place = api::count_request(parts_.around.quotas, principal);
  if (!place) {
    api::Denial denial = std::move(place).error();
    co_await answer_denial(exchange, std::move(denial));
    co_return;
  }
  exchange.label("tenant", principal.tenant);
  exchange.label("sandbox", sandbox->id);
  exchange.charge_to(principal.tenant);
  co_await serve_admitted(exchange, std::move(sandbox), std::move(routed), authorized);
}

Task<Result<session::SessionUse>> DataPlane::use_session(http::Exchange& exchange, Sandbox& sandbox,
                                                         const Routed& routed, bool authorized) {
  auto found = parts_.around.sessions.find(sandbox.tenant, sandbox.id);
  if (found || found.error().code != ErrorCode::paused || !sandbox.attributes.auto_resume) co_return found;
  // Whether a sandbox is running is asked without waking it, and by clients without a token.
  const bool is_question = routed.port == envd_port && exchange.target().path == "/health";
  if (is_question || (routed.port == envd_port && !authorized)) co_return found;
  const auto timeout = std::min(sandbox.attributes.timeout, parts_.settings.max_timeout);
  CLOCHE_CO_CHECK(co_await resume(parts_, sandbox, timeout, Deadline::after(resume_timeout)));
  co_return parts_.around.sessions.find(sandbox.tenant, sandbox.id);
}

Task<> DataPlane::serve_admitted(http::Exchange& exchange, SandboxPtr sandbox, Routed routed, bool authorized) {
  auto user = basic_user(exchange.fields());
  const bool is_ours = routed.port == envd_port || routed.port == interpreter_port;
  if (!user && is_ours) {
    co_await answer_error(exchange, 401, "invalid user in the Authorization header");
    co_return;
  }
  auto work = [&]() -> Task<Status> {
    CLOCHE_CO_CHECK(fallible_point<"service.request">());
    auto use = co_await use_session(exchange, *sandbox, routed, authorized);
    if (!use) {
      log::debug("request {}: {}", exchange.request_id(), use.error().message);
      co_await answer_no_sandbox(exchange, sandbox->id);
      co_return Status{};
    }
    note(*sandbox, exchange, routed, user.value_or(""));
    DataCall call{.exchange = exchange,
                  .use = std::move(*use),
                  .tenant = sandbox->tenant,
                  .quotas = parts_.around.quotas,
                  .authorized = authorized,
                  .access_token = sandbox->access_token,
                  .user = std::move(user).value_or("")};
    co_await serve_call(call, *sandbox, routed);
    co_return Status{};
  };
  auto served = co_await guarded("request " + std::string(exchange.request_id()), std::move(work));
  if (served) co_return;
  Error error = std::move(served).error();
  co_await answer_failure(exchange, std::move(error));
}

Task<api::Revoked> DataPlane::wait_until_revoked(const Sandbox& sandbox) const {
  const bool can_be_revoked = !sandbox.attributes.api_key.empty();
  std::optional<Deadline> unreadable_until;
  Event never(co_await asio::this_coro::executor);
  for (;;) {
    const Deadline due = can_be_revoked ? Deadline::after(api::SessionAuthCheck::check_interval) : Deadline::never();
    while (!due.passed()) co_await never.wait(due);
    const auto key = check_api_key(parts_, sandbox);
    if (key) {
      unreadable_until.reset();
      continue;
    }
    const bool is_unreadable = key.error().reason == auth::Reason::unavailable;
    if (!unreadable_until) unreadable_until = Deadline::after(api::SessionAuthCheck::unreadable_timeout);
    if (!is_unreadable || unreadable_until->passed()) co_return api::Revoked{"unauthenticated", key.error().message};
  }
}

Task<> DataPlane::serve_call(DataCall& call, const Sandbox& sandbox, const Routed& routed) {
  const bool is_port = routed.port != envd_port && routed.port != interpreter_port;
  const std::shared_ptr<session::Session> session = call.use.shared();
  Task<> service = is_port ? serve_port(call, sandbox, routed)
                           : (routed.port == envd_port ? services_.envd(call) : services_.interpreter(call));
  const auto ended = co_await first_of(std::move(service), session->wait_until_paused(), wait_until_revoked(sandbox));
  if (ended.index() == 0) co_return;
  if (call.exchange.is_answered()) {
    call.exchange.break_off();
  } else if (ended.index() == 1) {
    co_await answer_no_sandbox(call.exchange, sandbox.id);
  } else {
    co_await answer_error(call.exchange, 401, std::string(no_token));
  }
}

}  // namespace cloche::dialect::e2b
