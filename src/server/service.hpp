// Service: everything that `cloche serve` is made of, wired together. Read it from top to bottom: what stands higher
// up is used by what follows, and is shut down after it.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/call.hpp"
#include "api/leases/lease_registry.hpp"
#include "api/terminal/routes.hpp"
#include "config/config.hpp"
#include "core/async/task_group.hpp"
#include "host/instance_dir.hpp"
#include "http/server/server.hpp"
#include "metrics/metrics.hpp"
#include "pool/manager.hpp"
#include "runner/code_runner.hpp"
#include "server/dialects.hpp"
#include "session/store.hpp"
#include "snapshot/snapshots.hpp"
#include "volume/volumes.hpp"

namespace cloche::server {

struct ServiceOptions {
  config::Config config;
  std::vector<http::ListenOn> listen;  // see listen_on()
  auth::AuthOptions auth;              // see open_access(); without any, only this machine is served
};

class Service {
 public:
  // Refuses what makes no sense, and strangers where no token is asked for; listens nowhere yet.
  static Result<std::unique_ptr<Service>> create(Executor executor, ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Listens, takes over what an earlier process left, begins to fill the pools. Until then requests are told to wait.
  Task<Status> start();
  // Where it listens, for people.
  std::vector<std::string> addresses() const;
  // Methods and patterns of all routes, such as "GET /healthz".
  const std::vector<std::string>& route_names() const { return route_names_; }
  // The same of the dialects, whose routes are apart from these.
  std::vector<std::string> dialect_route_names() const;

  // No new requests, those in flight finish, leases end, sandboxes go. All of it has `drain_timeout` and then some
  // seconds to remove what there is. `timeout` when that was not enough, with what is left to the next start; work may
  // still be under way then, so that the process can only end at once.
  Task<Status> shut_down();
  // No new requests; those in flight finish within `drain_timeout`. Sandboxes and sessions stay for the next start,
  // which takes them over. After this the process either ends at once, or calls shut_down() to remove them after all.
  Task<> hand_over();
  // Stops waiting for clients, and waits only briefly for removals.
  void hasten();
  // Reads the certificates again; on an error those in use stay.
  Status reload_certificates() { return http_->reload_certificates(); }

 private:
  Service(const Executor& executor, const ManagerOptions& manager);
  http::Handler routes(api::TerminalRules terminals);
  http::Handler when_ready(http::Handler handler);
  // No program of a sandbox reaches the service through itself.
  void forbid_own_addresses();
  Task<> end(Deadline drained);
  Task<Status> end_in_order(Deadline drained);
  std::string left_to_the_next() const;

  metrics::Metrics metrics_;
  std::unique_ptr<auth::Authenticator> authenticator_;
  std::unique_ptr<auth::Quotas> quotas_;
  std::unique_ptr<api::ApiGuard> door_;
  asio::thread_pool threads_;       // what blocks: making and removing sandboxes
  asio::thread_pool body_threads_;  // read and write large bodies, behind everything else
  std::unique_ptr<InstanceDir> instance_;
  std::unique_ptr<volume::Volumes> volumes_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<pool::Manager> pools_;
  std::unique_ptr<runner::CodeRunner> runner_;
  std::unique_ptr<api::LeaseRegistry> leases_;
  std::unique_ptr<snapshot::Snapshots> snapshots_;
  std::unique_ptr<session::SessionStore> sessions_;
  Dialects dialects_;
  std::vector<std::string> route_names_;
  std::unique_ptr<http::Server> http_;
  std::chrono::milliseconds drain_{};
  bool ready_ = false;
  Deadline latest_ = Deadline::never();  // end of a shutdown
  std::optional<Status> ended_;
  Event progress_;
  TaskGroup ending_;
  TaskGroup watching_;
};

}  // namespace cloche::server
