// LeaseRegistry: leases that clients hold over HTTP, by ids that cannot be guessed and are never used twice. A client
// that vanished loses its lease by running_timeout; the registry then forgets it. A tenant has no way to another's
// leases, and is not told that there are any.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "auth/quotas.hpp"
#include "runner/code_runner.hpp"
#include "runner/container.hpp"
#include "runner/workplace.hpp"

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

  // A sandbox of the language's pool; fails at once when there is none to be had. Holds the ticket until the lease
  // ends.
  Task<Result<std::string>> lend(Language language, std::string tenant, auth::QuotaTicket ticket);
  // Leases that the pool has ended give their tickets back now and not when the next one is lent.
  void forget_ended();
  // not_found when the tenant has no such lease, or no more. Whoever uses it keeps it.
  Result<std::shared_ptr<Entry>> find(const std::string& id, const std::string& tenant);
  // Both are not_found when the tenant has no such lease.
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
