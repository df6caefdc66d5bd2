#include "server/service.hpp"

#include "api/errors.hpp"
#include "api/health_routes.hpp"
#include "api/lease_routes.hpp"
#include "core/log.hpp"
#include "lib/backends.hpp"
#include "runner/default_profiles.hpp"

namespace cloche::server {

namespace {

constexpr std::chrono::seconds start_patience{120};

void log_access(const http::AccessRecord& record) {
  log::info("{} {} {} {} {:.1f} ms {}", record.request_id, record.method, record.path, record.status,
            std::chrono::duration<double, std::milli>(record.duration).count(), record.peer.describe());
}

Status refuse_strangers(const std::vector<http::ListenOn>& listen) {
  for (const auto& each : listen) {
    if (is_local(each)) continue;
    return fail(ErrorCode::permission_denied,
                "without tokens the service listens on this machine alone: 127.0.0.1, [::1] or a unix socket");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Service>> Service::create(Executor executor, ServiceOptions options) {
  CLOCHE_CHECK(refuse_strangers(options.listen));
  std::unique_ptr<Service> service(new Service());
  ManagerOptions& manager = options.config.manager;
  if (manager.engine.instance.empty()) manager.engine.instance = "default";
  service->drain_ = manager.drain_timeout;

  CLOCHE_TRY(LanguageRegistry languages, LanguageRegistry::create(options.config.languages));
  if (manager.profiles.empty()) manager.profiles = default_profiles(languages, manager.engine.backend);
  for (const auto& [alias, profile] : languages.aliases_for(manager.profiles)) manager.aliases.emplace(alias, profile);

  CLOCHE_TRY(service->instance_, InstanceDir::claim(manager.engine));
  CLOCHE_TRY(auto journal, pool::Journal::open(service->instance_->journal()));
  const InstanceId instance{manager.engine.instance};
  CLOCHE_TRY(service->backend_, make_backend(executor, service->threads_, manager.engine, instance));
  CLOCHE_TRY(service->pools_,
             pool::Manager::create(executor, *service->backend_, std::move(journal), std::move(manager)));
  service->runner_ = std::make_unique<runner::CodeRunner>(executor, *service->pools_, std::move(languages));
  service->leases_ = std::make_unique<api::LeaseBook>(*service->runner_);

  http::ServerOptions http;
  http.listen = std::move(options.listen);
  http.error_body = api::error_body_of_server;
  http.access_log = log_access;
  service->http_ = std::make_unique<http::Server>(executor, std::move(http), service->routes());
  return service;
}

Service::~Service() = default;

http::Handler Service::routes() {
  http::Router<http::RouteHandler> router;
  api::add_health_routes(router, *pools_);
  api::add_lease_routes(router, *leases_, *runner_);
  return http::serve_routes(std::move(router));
}

Task<Status> Service::start() {
  auto started = co_await pools_->start(Deadline::after(start_patience));
  if (!started) co_return started;
  auto listening = co_await http_->start();
  if (listening) co_return listening;
  [[maybe_unused]] auto ended = co_await pools_->shut_down();
  co_return listening;
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
  http_->stop_accepting();
  co_await http_->shut_down(Deadline::after(drain_));
  leases_->clear();
  auto ended = co_await pools_->shut_down();
  co_return ended;
}

}  // namespace cloche::server
