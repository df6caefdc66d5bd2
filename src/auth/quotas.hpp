// Quotas: how much of the server one tenant may use at a time. Everything that costs is counted here, whatever route it
// came by. Pure: the clock is handed in, nothing waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "auth/principal.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"

namespace cloche::auth {

struct Rate {
  double per_second = 0;    // from 0.001 to 1,000,000
  std::uint32_t burst = 1;  // so many at once after a rest; from 1 to 1,000,000
};

// Unset values are not limited. 0 allows none.
struct QuotaLimits {
  std::optional<std::uint32_t> sessions;           // open
  std::optional<std::uint32_t> runs;               // programs under way: runs, terminals, commands of leases
  std::optional<std::uint32_t> contexts;           // interpreters that are kept between calls
  std::optional<std::uint32_t> leases;             // sandboxes leased by POST /sandboxes/{language}
  std::optional<std::uint32_t> calls;              // requests under way, of any kind
  std::optional<std::uint32_t> streams = 256;      // clients that follow a run
  std::optional<std::uint32_t> connections = 256;  // into sandboxes, through the proxy
  std::optional<std::uint32_t> files = 256;        // file operations under way or waiting for their turn
  std::optional<Rate> requests;
  std::optional<std::uint32_t> egress_connections = 1024;  // of programs, to the outside
  std::optional<std::uint64_t> egress_bytes;               // of these connections, both ways, in a minute
  std::optional<Rate> egress_requests;                     // of programs that the server reads
  std::optional<std::uint32_t> volumes = 16;               // that exist; counted where they are kept
  std::optional<std::uint64_t> volume_bytes;               // of all of them, by their sizes
  std::optional<std::uint32_t> snapshots = 32;             // that exist; counted where they are kept
  std::optional<std::uint64_t> snapshot_bytes;             // of all of them, as stored
};

struct QuotaOptions {
  QuotaLimits limits;                                     // of every tenant
  std::map<std::string, QuotaLimits, std::less<>> named;  // instead of those, for the tenants that are named
  std::size_t most_tenants = 10'000;                      // who are remembered at a time
};

Status check_quotas(const QuotaOptions& options);

enum class Quota {
  requests,
  sessions,
  runs,
  contexts,
  leases,
  calls,
  streams,
  connections,
  files,
  egress_connections,
  egress_bytes,
  egress_requests,
  tenants
};
std::string_view to_string(Quota quota);

struct OverQuota {
  Quota quota;
  std::chrono::seconds retry_after;  // at least 1
  std::string message;

  operator Error() const;  // NOLINT(google-explicit-constructor): `limit_reached`, so that CLOCHE_TRY takes it along
};

template <class T = void>
using WithinQuota = std::expected<T, OverQuota>;

struct TenantUse {
  std::uint32_t sessions = 0;
  std::uint32_t runs = 0;
  std::uint32_t contexts = 0;
  std::uint32_t leases = 0;
  std::uint32_t calls = 0;
  std::uint32_t streams = 0;
  std::uint32_t connections = 0;
  std::uint32_t files = 0;
  std::uint32_t egress_connections = 0;
  SteadyTime next_egress_due;  // of the next request of a program, as next_due
  SteadyTime bytes_due;        // when the bytes so far would be due if they came evenly
  SteadyTime next_due;         // when the next request would be due if they came evenly; at rest, in the past
};

// A counted place; it is released by the destructor. It may outlive the Quotas.
class QuotaTicket {
 public:
  QuotaTicket() = default;
  QuotaTicket(QuotaTicket&& other) noexcept;
  QuotaTicket& operator=(QuotaTicket&& other) noexcept;
  ~QuotaTicket() { give_back(); }

  explicit operator bool() const { return use_ != nullptr; }
  void give_back();

 private:
  friend class Quotas;
  QuotaTicket(std::shared_ptr<TenantUse> use, std::uint32_t TenantUse::* place);

  std::shared_ptr<TenantUse> use_;
  std::uint32_t TenantUse::* place_ = nullptr;
};

// Used by one thread, including its tickets. A tenant that holds nothing and has been inactive is dropped.
class Quotas {
 public:
  // The options have passed check_quotas.
  Quotas(QuotaOptions options, SteadyClock clock);

  // Counts one request of the caller's tenant.
  WithinQuota<> admit_request(const Principal& principal);
  // One request of a program to the outside.
  WithinQuota<> admit_egress_request(const AuthorizedTenant& tenant);
  // Bytes of a program that were carried. They count in any case; over the limit no more may follow for a while.
  WithinQuota<> count_egress_bytes(const AuthorizedTenant& tenant, std::uint64_t bytes);
  // One thing more of the tenant that it is for. `quota` is one that is counted: neither requests nor bytes nor
  // tenants.
  WithinQuota<QuotaTicket> take(const AuthorizedTenant& tenant, Quota quota);
  WithinQuota<QuotaTicket> begin_run(const AuthorizedTenant& tenant) { return take(tenant, Quota::runs); }
  WithinQuota<QuotaTicket> open_session(const AuthorizedTenant& tenant) { return take(tenant, Quota::sessions); }
  // Counts something that was found after a restart, whatever the limit is.
  QuotaTicket adopt(const AuthorizedTenant& tenant, Quota quota);

  TenantUse use_of(std::string_view tenant) const;
  const QuotaLimits& limits_of(std::string_view tenant) const;
  std::size_t remembered() const { return tenants_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };

  // nullptr when too many tenants are remembered, none of which can be forgotten.
  std::shared_ptr<TenantUse> entry(const std::string& tenant);
  void forget_rested(SteadyTime now);
  WithinQuota<> admit(const std::string& tenant, Quota quota, const std::optional<Rate>& rate,
                      SteadyTime TenantUse::* next_due);

  QuotaOptions options_;
  SteadyClock clock_;
  std::unordered_map<std::string, std::shared_ptr<TenantUse>, Hash, std::equal_to<>> tenants_;
  std::optional<SteadyTime> swept_;
};

}  // namespace cloche::auth
