// Service: everything that `cloche serve` is made of, wired together. Read it from top to bottom: what stands higher
// up is used by what follows, and is shut down after it.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>
#include <vector>

#include "api/lease_book.hpp"
#include "config/config.hpp"
#include "http/server/server.hpp"
#include "lib/instance_dir.hpp"
#include "pool/manager.hpp"
#include "runner/code_runner.hpp"

namespace cloche::server {

struct ServiceOptions {
  config::Config config;
  std::vector<http::ListenOn> listen;
};

class Service {
 public:
  // Refuses what makes no sense; listens nowhere yet.
  static Result<std::unique_ptr<Service>> create(Executor executor, ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Takes over what an earlier process left, begins to fill the pools, listens.
  Task<Status> start();
  // Where it listens, for people.
  std::vector<std::string> addresses() const;

  // No new requests, those in flight finish, leases end, sandboxes go.
  Task<Status> shut_down();
  void hasten() { pools_->hasten(); }

 private:
  Service() = default;
  http::Handler routes();

  asio::thread_pool threads_{2};
  std::unique_ptr<InstanceDir> instance_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<pool::Manager> pools_;
  std::unique_ptr<runner::CodeRunner> runner_;
  std::unique_ptr<api::LeaseBook> leases_;
  std::unique_ptr<http::Server> http_;
  std::chrono::milliseconds drain_{};
};

// "127.0.0.1:8080", "[::1]:8080", ":8080" (loopback), "unix:/path".
Result<http::ListenOn> parse_listen(std::string_view text);
// Whether only this machine can reach it.
bool is_local(const http::ListenOn& listen);

}  // namespace cloche::server
