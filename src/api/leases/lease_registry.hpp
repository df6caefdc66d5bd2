// LeaseRegistry: leases that clients hold over HTTP, by ids that cannot be guessed and are never reused. A client that
// disappears loses its lease after running_timeout, and the registry drops it. A tenant can neither use nor detect the
// leases of others.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "auth/quotas.hpp"
#include "runner/autograder/container.hpp"
#include "runner/code_runner.hpp"
#include "runner/step_pool.hpp"

namespace cloche::api {

class LeaseRegistry {
 public:
  // The runner outlives the registry.
  explicit LeaseRegistry(runner::CodeRunner& runner) : runner_(runner) {}

  struct Entry {
    auth::QuotaTicket ticket;  // one of the tenant's leases
    pool::Lease lease;
    std::unique_ptr<runner::Container> container;
    std::string language;
    std::string tenant;
  };

  // Leases a sandbox from the pool of the language. Fails immediately if none is available. Holds the ticket until the
  // lease ends.
  // `network`: in place of the profile's.
  Task<Result<std::string>> lend(Language language, std::string tenant, std::optional<NetworkPolicy> network,
                                 auth::QuotaTicket ticket);
  // Releases the tickets of leases that the pool has ended, without waiting for the next lease.
  void forget_ended();
  // not_found if the tenant has no such lease, or no longer has it. The returned pointer keeps the lease alive.
  Result<std::shared_ptr<Entry>> find(const std::string& id, const std::string& tenant);
  // Both return not_found if the tenant has no such lease.
  Status give_back(const std::string& id, const std::string& tenant);
  Status destroy(const std::string& id, const std::string& tenant);
  // All are given back.
  void clear() { entries_.clear(); }

 private:
  using Entries = std::unordered_map<std::string, std::shared_ptr<Entry>>;

  Result<std::shared_ptr<Entry>> take_out(const std::string& id, const std::string& tenant);

  runner::CodeRunner& runner_;
  Entries entries_;
};

}  // namespace cloche::api
