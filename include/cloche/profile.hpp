/// @file
/// Profile: a named kind of sandbox, and how a pool keeps sandboxes of that kind warm.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cloche/limits.hpp"
#include "cloche/network.hpp"
#include "cloche/script.hpp"
#include "cloche/spec.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// What a claim does if every sandbox is in use and the pool is at its limit.
enum class AtLimit { wait, fail };

/// What happens to a returned sandbox. In every case it never serves another tenant.
enum class Reuse {
  reset,  ///< It is reset, verified, and leased again.
  never,  ///< It is destroyed and replaced.
};

/// How many sandboxes a pool has, and for how long.
struct PoolOptions {
  std::uint32_t pool_size = 3;     ///< The number of idle sandboxes that are kept ready.
  std::uint32_t scale_limit = 10;  ///< The limit of all sandboxes, including those being created and removed.
  /// The limit of sandboxes leased to one tenant at a time. Unset: no limit per tenant.
  std::optional<std::uint32_t> tenant_limit;
  std::chrono::milliseconds idle_timeout{600'000};     ///< Idle time after which a sandbox beyond pool_size is removed.
  std::chrono::milliseconds running_timeout{120'000};  ///< The time after which a lease is ended by force.
  std::uint32_t max_uses = 50;                         ///< The number of uses after which a sandbox is replaced.
  Reuse reuse = Reuse::reset;                          ///< What happens to a returned sandbox.
  AtLimit at_limit = AtLimit::wait;                    ///< The default for claims.
  std::chrono::milliseconds wait_timeout{30'000};      ///< How long a claim waits.
  std::uint32_t max_waiting = 1000;  ///< The limit of waiting claims. Further claims fail immediately.

  /// The time after which a sandbox that cannot be reset is destroyed.
  std::chrono::milliseconds reset_timeout{5'000};
  std::chrono::milliseconds health_interval{15'000};  ///< The interval between health checks of an idle sandbox.
};

/// A Python interpreter with imported modules that is kept ready in each sandbox; see ExecSpec::zygote.
struct ZygoteSpec {
  std::string name = "python";          ///< The name for ExecSpec::zygote.
  std::string interpreter = "python3";  ///< The interpreter, found in the sandbox's PATH.
  std::vector<std::string> imports;     ///< The modules to import.
};

/// A named kind of sandbox and its pool.
struct Profile {
  std::string name;     ///< The name: letters, digits, '_' and '-'.
  SandboxSpec sandbox;  ///< The spec of each sandbox.
  /// The limits that the configuration sets. They take precedence over those of a language.
  LimitOverrides limits_set;
  PoolOptions pool;                      ///< The options of the pool.
  std::vector<ZygoteSpec> zygotes;       ///< The zygotes that are kept ready in each sandbox.
  std::optional<ScriptHarness> scripts;  ///< The harness that is kept ready for run_script().
  /// The environment of every program that runs in a lease. It is not part of the sandbox's own configuration.
  std::map<std::string, std::string> env;
  std::vector<std::string> secrets;  ///< The names of the secrets; see ManagerOptions::secrets.
  NetworkPolicy network;             ///< What programs can reach, unless a claim replaces it.
};

/// What a claim binds to a warm sandbox. All of it is removed when the sandbox is returned.
struct ClaimOptions {
  std::string tenant;                                     ///< The trust domain.
  std::optional<AtLimit> at_limit;                        ///< Replaces the option of the pool.
  std::optional<std::chrono::milliseconds> wait_timeout;  ///< Replaces the option of the pool.
  std::map<std::string, std::string> env;  ///< Variables that are added to those of the profile and replace them.
  /// Names of secrets in addition to those of the profile. Each is set as a variable with its name.
  std::vector<std::string> secrets;
  LimitOverrides limits;                     ///< Limits that replace those of the profile.
  std::optional<NetworkPolicy> network;      ///< Replaces that of the profile.
  std::string work_dir;                      ///< The directory in which programs start. It is created if necessary.
  std::map<std::string, std::string> files;  ///< Files to write: paths relative to the work directory, and contents.
};

/// A histogram of the time from a claim to its sandbox.
struct CLOCHE_API LatencyHistogram {
  static constexpr std::chrono::microseconds first_bound{50};  ///< The bound of the first bucket.
  /// The number of buckets. Bucket i counts up to first_bound * 2^i; the last one counts the rest.
  static constexpr int buckets = 20;

  std::uint64_t counts[buckets] = {};  ///< The counts of the buckets.
  std::uint64_t count = 0;             ///< The count of all claims.
  std::chrono::microseconds sum{};     ///< The sum of all latencies.

  /// Adds one latency.
  void add(std::chrono::microseconds latency);
  /// Returns the bound of the bucket that contains this share (0 to 1) of all; zero if there are none.
  std::chrono::microseconds quantile(double share) const;
};

/// The current state of a pool, and its counters since it was created.
struct PoolStats {
  std::uint32_t idle = 0;         ///< Sandboxes that are ready to be leased.
  std::uint32_t active = 0;       ///< Leased sandboxes.
  std::uint32_t total = 0;        ///< All sandboxes: idle, leased, being created, reset or removed.
  std::uint32_t pool_size = 0;    ///< The option pool_size.
  std::uint32_t scale_limit = 0;  ///< The option scale_limit.
  double utilization = 0;         ///< Percentage of all sandboxes that are leased.

  std::uint32_t making = 0;           ///< Sandboxes that are being created.
  std::uint32_t resetting = 0;        ///< Sandboxes that are being reset.
  std::uint32_t removing = 0;         ///< Sandboxes that are being removed.
  std::uint32_t waiting = 0;          ///< Waiting claims.
  std::uint64_t claims = 0;           ///< Successful claims.
  std::uint64_t refused = 0;          ///< Claims that failed at the limit or after waiting.
  std::uint64_t created = 0;          ///< Sandboxes created.
  std::uint64_t create_failures = 0;  ///< Sandboxes that could not be created.
  std::uint64_t destroyed = 0;        ///< Sandboxes destroyed.
  std::uint64_t resets = 0;           ///< Successful resets.
  std::uint64_t resets_failed = 0;    ///< Failed resets. These sandboxes were destroyed.
  std::uint64_t revoked = 0;          ///< Leases ended by running_timeout.
  std::uint64_t lost = 0;             ///< Sandboxes that died by themselves.
  std::uint64_t unanswered = 0;       ///< Idle sandboxes that did not respond when they were claimed.
  LatencyHistogram claim_latency;     ///< The latency of successful claims.
};

}  // namespace cloche
