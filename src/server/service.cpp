#include "server/service.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <latch>
#include <thread>

#include "api/contexts/routes.hpp"
#include "api/errors.hpp"
#include "api/files/routes.hpp"
#include "api/leases/routes.hpp"
#include "api/operations/access_routes.hpp"
#include "api/operations/contract_routes.hpp"
#include "api/operations/health_routes.hpp"
#include "api/operations/metrics_routes.hpp"
#include "api/proxy/routes.hpp"
#include "api/runs/routes.hpp"
#include "api/sessions/egress_routes.hpp"
#include "api/sessions/lifecycle_routes.hpp"
#include "api/sessions/routes.hpp"
#include "api/snapshots/routes.hpp"
#include "api/terminal/routes.hpp"
#include "api/volumes/routes.hpp"
#include "core/async/guarded.hpp"
#include "core/async/loop_lag.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "host/backends.hpp"
#include "language/default_profiles.hpp"
#include "sandbox/backend_traits.hpp"
#include "server/egress_meter.hpp"
#include "server/listen.hpp"
#include "server/owners.hpp"
#include "server/session_gpus.hpp"
#include "server/session_workspace.hpp"

namespace cloche::server {

namespace {

constexpr std::chrono::seconds start_patience{120};
// For all that is left to remove once nobody is waited for any more.
constexpr std::chrono::seconds removal_grace{45};
constexpr std::chrono::seconds hastened_grace{10};

// How often it is measured how late the server's thread is.
constexpr std::chrono::milliseconds lag_interval{50};

// Large bodies get half of the machine, and less when others want it.
unsigned body_thread_count() { return std::clamp(std::thread::hardware_concurrency() / 2, 1U, 4U); }

void run_behind_others(asio::thread_pool& pool, unsigned threads) {
  constexpr int politeness = 5;
  const auto all_there = std::make_shared<std::latch>(threads);
  for (unsigned i = 0; i < threads; ++i) {
    asio::post(pool, [all_there] {
      all_there->arrive_and_wait();  // so that each thread does it once
      if (::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), politeness) != 0) {
        log::debug("cannot lower the priority of the threads for large bodies");
      }
    });
  }
}

Status refuse_strangers(const std::vector<http::ListenOn>& listen) {
  for (const auto& each : listen) {
    if (is_local(each)) continue;
    return fail(ErrorCode::permission_denied,
                "without tokens the service may listen only on 127.0.0.1, [::1] or a Unix socket");
  }
  return {};
}

// The limit of a path in the access log, which a client can make arbitrarily long.
constexpr std::size_t most_of_path = 300;

// The access log: one event per request, with its caller and result. Never a query, a header or a body.
void log_access(const http::AccessRecord& record) {
  const std::string peer = record.peer.describe();
  std::vector<log::Field> fields;
  fields.push_back({"request_id", record.request_id});
  fields.push_back({"method", record.method});
  fields.push_back({"path", record.path.substr(0, most_of_path)});
  fields.push_back({"status", std::int64_t{record.status}});
  fields.push_back({"ms", std::chrono::duration<double, std::milli>(record.duration).count()});
  fields.push_back({"bytes_in", static_cast<std::int64_t>(record.bytes_in)});
  fields.push_back({"bytes_out", static_cast<std::int64_t>(record.bytes_out)});
  fields.push_back({"peer", std::string_view(peer)});
  // The route, the tenant and the token.
  for (const auto& [name, value] : record.labels) fields.push_back({name, std::string_view(value)});
  log::event(spdlog::level::info, "request", fields);
}

// The profile of sessions is there, and as `sessions:` wants it.
Result<SessionProfile> settle_session_profile(std::vector<Profile>& profiles, const config::SessionSettings& sessions,
                                              const LanguageRegistry& languages, BackendKind backend) {
  auto found = std::ranges::find(profiles, sessions.profile, &Profile::name);
  const bool is_made = found == profiles.end();
  if (is_made) {
    Profile made = session_profile(languages, backend, sessions.image, sessions.most);
    if (sessions.profile != made.name) {
      return fail(ErrorCode::invalid_argument,
                  "sessions.profile is '" + sessions.profile + "', but there is no such profile");
    }
    found = profiles.insert(profiles.end(), std::move(made));
  }
  if (sessions.memory && are_of_image(found->sandbox.limits)) {
    return fail(ErrorCode::invalid_argument,
                "sessions.memory or SANDBOX_MEM_LIMIT is set, but with this backend the memory of a sandbox is that of "
                "its template: unset it, or use another template");
  }
  if (sessions.memory) found->sandbox.limits.memory = *sessions.memory;
  return is_made ? SessionProfile::made : SessionProfile::configured;
}

// Where there may be several tenants, one leaves something to the others unless the configuration says otherwise: half
// of the server's connections, half of each pool.
void share_among_tenants(config::Config& config) {
  const auto half = static_cast<std::uint32_t>((config.server.limits.connections + 1) / 2);
  const auto bound = [&](auth::QuotaLimits& limits) {
    if (!limits.calls) limits.calls = half;
  };
  bound(config.server.quotas.limits);
  for (auto& [tenant, limits] : config.server.quotas.named) bound(limits);
}

void share_pools(std::vector<Profile>& profiles) {
  for (Profile& profile : profiles) {
    if (!profile.pool.tenant_limit) profile.pool.tenant_limit = (profile.pool.scale_limit + 1) / 2;
  }
}

void warn_of_plain_text(const std::vector<http::ListenOn>& listen) {
  for (const auto& each : listen) {
    const auto* tcp = std::get_if<http::ListenTcp>(&each);
    if (is_local(each) || tcp->certificate) continue;
    log::warn("tokens are sent unencrypted on {}: configure server.tls or use a TLS proxy", tcp->host);
  }
}

void warn_of_useless_secrets(const config::Config& config) {
  for (const std::string& name : useless_secrets(config, config.manager.profiles)) {
    log::warn(
        "secret {}: no profile has it and it lists no tenants, so nothing can use it; write `tenants: [NAME, ...]` "
        "to let tenants name it in a request",
        name);
  }
}

session::StoreOptions store_options(const config::SessionSettings& settings, const InstanceDir& instance) {
  session::StoreOptions options;
  options.profile = settings.profile;
  options.idle_timeout = settings.idle_timeout;
  options.paused_timeout = settings.paused_timeout;
  options.most = settings.most;
  options.max_limits = settings.max_limits;
  options.artifacts = settings.artifacts;
  options.database = instance.sessions();
  options.owner = instance.id().value;
  return options;
}

Result<std::unique_ptr<volume::Volumes>> open_volumes(const InstanceDir& instance, const EngineOptions& engine,
                                                      std::shared_ptr<disk::Ledger> ledger) {
  using Support = volume::Volumes::Support;
  auto store = std::make_unique<volume::VolumeStore>(instance.volumes(), engine.disk, std::move(ledger));
  CLOCHE_CHECK(store->open());
  const Support support = traits_of(engine.backend).has_disks ? Support::available : Support::unavailable;
  return std::make_unique<volume::Volumes>(std::move(store), support);
}

Result<std::unique_ptr<snapshot::Snapshots>> open_snapshots(const InstanceDir& instance,
                                                            const config::SnapshotSettings& settings,
                                                            const auth::Quotas& quotas) {
  snapshot::SnapshotOptions options;
  options.directory = instance.snapshots();
  options.max_size = settings.max_size;
  auto store = std::make_shared<snapshot::SnapshotStore>(std::move(options));
  CLOCHE_CHECK(store->open());
  return std::make_unique<snapshot::Snapshots>(std::move(store), quotas);
}

// Languages by the names we have for them, so that callers cannot make up labels.
session::RunMeter meter_into(metrics::Metrics& metrics, const LanguageRegistry& languages) {
  return [&metrics, &languages](const session::RunEnded& run) {
    const auto language = languages.find(std::string(run.language));
    metrics.run_ended(language ? language->name : "none", run.category, run.cause, run.wall);
  };
}

std::string_view route_of(const http::AccessRecord& record) {
  for (const auto& [name, value] : record.labels) {
    if (name == "route") return value;
  }
  return {};
}

}  // namespace

Service::Service(const Executor& executor, const ManagerOptions& manager)
    : threads_(blocking_threads(manager)),
      body_threads_(body_thread_count()),
      progress_(executor),
      ending_(executor),
      watching_(executor) {
  run_behind_others(body_threads_, body_thread_count());
}

Result<std::unique_ptr<Service>> Service::create(Executor executor, ServiceOptions options) {
  std::unique_ptr<Service> service(new Service(executor, options.config.manager));
  CLOCHE_TRY(auth::Authenticator authenticator, auth::Authenticator::open(std::move(options.auth)));
  if (!authenticator.needs_token()) CLOCHE_CHECK(refuse_strangers(options.listen));
  warn_of_plain_text(options.listen);
  service->authenticator_ = std::make_unique<auth::Authenticator>(std::move(authenticator));
  if (service->authenticator_->needs_token()) share_among_tenants(options.config);
  CLOCHE_CHECK(auth::check_quotas(options.config.server.quotas));
  service->quotas_ = std::make_unique<auth::Quotas>(options.config.server.quotas, Clocks().steady);
  service->door_ = std::make_unique<api::ApiGuard>(*service->authenticator_, *service->quotas_);

  ManagerOptions& manager = options.config.manager;
  if (manager.engine.instance.empty()) manager.engine.instance = "default";
  manager.callers = Callers::strangers;
  service->drain_ = manager.drain_timeout;

  CLOCHE_TRY(LanguageRegistry languages, LanguageRegistry::create(options.config.languages));
  if (manager.profiles.empty()) manager.profiles = default_profiles(languages, manager.engine.backend);
  CLOCHE_TRY(const SessionProfile session_origin,
             settle_session_profile(manager.profiles, options.config.sessions, languages, manager.engine.backend));
  CLOCHE_CHECK(settle_session_gpus(options.config, session_origin));
  const bool made_base = add_base_profile(options.config, languages);
  if (service->authenticator_->needs_token()) share_pools(manager.profiles);
  for (const auto& [alias, profile] : languages.aliases_for(manager.profiles)) manager.aliases.emplace(alias, profile);
  CLOCHE_TRY(pool::Tenancy tenancy, owners_of(options.config, manager.profiles, languages));
  tenancy.meters = egress_meters(*service->quotas_);
  warn_of_useless_secrets(options.config);

  CLOCHE_TRY(service->instance_, InstanceDir::claim(manager.engine));
  settle_session_workspace(manager.profiles, options.config.sessions, session_origin, manager.engine);
  if (made_base) settle_base_workspace(options.config);
  const InstanceId& instance = service->instance_->id();
  CLOCHE_TRY(auto journal, pool::Journal::open(service->instance_->journal(), instance.value));
  const auto ledger = std::make_shared<disk::Ledger>();
  CLOCHE_TRY(service->volumes_, open_volumes(*service->instance_, manager.engine, ledger));
  tenancy.volumes = {service->volumes_.get(), options.config.volumes};
  CLOCHE_TRY(service->backend_, make_backend(executor, service->threads_, manager.engine, instance, ledger));
  CLOCHE_TRY(service->pools_, pool::Manager::create(executor, *service->backend_, std::move(journal),
                                                    std::move(manager), std::move(tenancy)));
  service->runner_ = std::make_unique<runner::CodeRunner>(executor, *service->pools_, std::move(languages));
  service->leases_ = std::make_unique<api::LeaseRegistry>(*service->runner_);
  session::StoreOptions sessions = store_options(options.config.sessions, *service->instance_);
  sessions.meter = meter_into(service->metrics_, service->runner_->languages());
  CLOCHE_TRY(service->snapshots_, open_snapshots(*service->instance_, options.config.snapshots, *service->quotas_));
  sessions.snapshots = session::hooks_for(*service->snapshots_);
  CLOCHE_TRY(service->sessions_,
             session::SessionStore::open(executor, *service->pools_, *service->quotas_, std::move(sessions)));
  const dialect::e2b::Surroundings around{*service->sessions_, *service->snapshots_, *service->pools_,
                                          *service->authenticator_, *service->quotas_};
  CLOCHE_TRY(service->dialects_, open_dialects(around, options.config.dialects, service->instance_->e2b_key()));

  http::ServerOptions http;
  http.listen = std::move(options.listen);
  http.limits = options.config.server.limits;
  http.tenant_bodies = options.config.server.tenant_bodies;
  http.workers = &service->body_threads_;
  http.error_body = api::error_body_of_server;
  http.access_log = [&metrics = service->metrics_](const http::AccessRecord& record) {
    log_access(record);
    metrics.request_ended(record.method, route_of(record), record.status, record.duration);
  };
  const api::TerminalRules terminals{options.config.sessions.terminal_timeout,
                                     options.config.sessions.terminal_idle_timeout};
  service->http_ = std::make_unique<http::Server>(executor, std::move(http), service->routes(terminals));
  service->metrics_.watch({.pools = [pools = service->pools_.get()] { return pools->stats(); },
                           .sessions = [sessions = service->sessions_.get()] { return sessions->counts(); },
                           .http = [server = service->http_.get()] { return server->counts(); },
                           .unremoved = [pools = service->pools_.get()] { return pools->unremoved().size(); },
                           .egress = [pools = service->pools_.get()] { return pools->egress_totals(); }});
  return service;
}

Service::~Service() = default;

http::Handler Service::routes(api::TerminalRules terminals) {
  http::Router<http::RouteHandler> router;
  api::add_health_routes(router, *pools_, *backend_);
  api::add_contract_routes(router);
  api::add_lease_routes(router, *door_, *leases_, *runner_, *quotas_);
  api::CallRouter calls;
  api::add_session_routes(calls, *sessions_);
  api::add_egress_routes(calls, *sessions_);
  api::add_lifecycle_routes(calls, *sessions_);
  api::add_volume_routes(calls, *volumes_, *quotas_);
  api::add_snapshot_routes(calls, *sessions_, *snapshots_);
  api::add_run_routes(calls, *sessions_, runner_->languages(), pools_->access(), *quotas_);
  api::add_context_routes(calls, *sessions_);
  api::add_file_routes(calls, *sessions_);
  api::add_terminal_routes(calls, *sessions_, *quotas_, terminals);
  api::add_proxy_routes(calls, *sessions_);
  api::add_metrics_routes(calls, metrics_);
  api::add_access_routes(calls, *pools_);
  door_->open(calls, router);
  router.for_each([this](const std::string& method, const std::string& pattern, const http::RouteHandler&) {
    route_names_.push_back(method + " " + pattern);
  });
  return with_dialects(dialects_, when_ready(http::serve_routes(std::move(router))), [this] { return ready_; });
}

std::vector<std::string> Service::dialect_route_names() const {
  std::vector<std::string> all;
  for (const auto& each : dialects_) std::ranges::copy(each->route_names(), std::back_inserter(all));
  return all;
}

// Until all is taken over, only health checks are answered.
http::Handler Service::when_ready(http::Handler handler) {
  return [this, handler = std::move(handler)](http::Exchange& exchange) -> Task<> {
    const std::string& path = exchange.target().path;
    if (ready_ || path == "/healthz" || path == "/readyz") {
      co_await handler(exchange);
      co_return;
    }
    http::Fields fields;
    fields.emplace_back("Retry-After", "1");
    [[maybe_unused]] auto sent = co_await exchange.refuse(503, "the service is starting", std::move(fields));
  };
}

// Listens first: a server that cannot must not touch what an earlier process left.
Task<Status> Service::start() {
  auto listening = co_await http_->start();
  if (!listening) {
    instance_->made_nothing();
    co_return listening;
  }
  forbid_own_addresses();
  instance_->will_make();
  auto started = co_await pools_->prove(Deadline::after(start_patience));
  if (started) {
    started = co_await pools_->start(Deadline::after(start_patience));
  } else {
    instance_->made_nothing();
  }
  if (started) started = co_await sessions_->start();
  if (!started) {
    co_await http_->shut_down(Deadline::after(drain_));
    co_return started;
  }
  for (const auto& each : dialects_) co_await each->start();
  ready_ = true;
  watching_.spawn("loop lag",
                  [this] { return watch_loop_lag(lag_interval, [this](auto by) { metrics_.loop_was_late(by); }); });
  co_return Status{};
}

void Service::forbid_own_addresses() {
  for (const http::ListensOn& each : http_->listens_on()) {
    if (const auto address = egress::Address::parse(each.address)) pools_->forbid({*address, each.port});
  }
}

std::vector<std::string> Service::addresses() const {
  std::vector<std::string> all;
  for (const http::ListensOn& each : http_->listens_on()) {
    const bool v6 = each.address.find(':') != std::string::npos;
    const std::string host = v6 ? "[" + each.address + "]" : each.address;
    const std::string scheme = each.encrypted ? "https://" : "http://";
    all.push_back(each.path.empty() ? scheme + host + ":" + std::to_string(each.port) : "unix:" + each.path);
  }
  return all;
}

Task<Status> Service::shut_down() {
  const Deadline drained = Deadline::after(drain_);
  latest_ = latest_.sooner(Deadline::after(drain_ + removal_grace));
  ending_.spawn("shut down", [this, drained] { return end(drained); });
  while (!ended_ && !latest_.passed()) co_await progress_.wait(latest_);
  if (!ended_) co_return fail(ErrorCode::timeout, left_to_the_next());
  co_await ending_.join();
  co_return std::move(*ended_);
}

Task<> Service::end(Deadline drained) {
  auto work = [this, drained] { return end_in_order(drained); };
  auto ended = co_await guarded("shut down", std::move(work));
  ended_ = std::move(ended);
  progress_.notify();
}

Task<Status> Service::end_in_order(Deadline drained) {
  CLOCHE_CO_CHECK(fallible_point<"service.end">());
  http_->stop_accepting();
  co_await http_->shut_down(drained);
  leases_->clear();
  co_await sessions_->shut_down(drained);
  auto ended = co_await pools_->shut_down();
  co_await watching_.shut_down();
  if (ended) instance_->leave_nothing();
  co_return ended;
}

Task<> Service::hand_over() {
  http_->stop_accepting();
  co_await http_->shut_down(Deadline::after(drain_));
}

void Service::hasten() {
  http_->hasten();
  sessions_->hasten();
  pools_->hasten();
  latest_ = latest_.sooner(Deadline::after(hastened_grace));
  progress_.notify();
}

std::string Service::left_to_the_next() const {
  std::string pools;
  std::size_t left = 0;
  for (const auto& [name, stats] : pools_->stats()) {
    if (stats.total == 0) continue;
    left += stats.total;
    pools += (pools.empty() ? "" : ", ") + std::to_string(stats.total) + " of " + name;
  }
  return "shutdown timed out (is the engine hanging?): " + std::to_string(left) + " sandboxes remain (" + pools +
         "); the next start removes them";
}

}  // namespace cloche::server
