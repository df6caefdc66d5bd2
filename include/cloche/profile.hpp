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
#include "cloche/script.hpp"
#include "cloche/spec.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// What a claim does when every sandbox is lent and the pool may not make another.
enum class AtLimit { wait, fail };

/// What happens to a sandbox that is given back. Whatever is chosen, it never serves another tenant.
enum class Reuse {
  reset,  ///< made as good as new, proved, and lent again
  never,  ///< destroyed and replaced
};

/// How many sandboxes there are, and for how long.
struct PoolOptions {
  std::uint32_t pool_size = 3;     ///< kept warm: ready to be lent at once
  std::uint32_t scale_limit = 10;  ///< there are never more, lent or not, being made or being removed
  /// Lent to one tenant at a time; unset: all of them.
  std::optional<std::uint32_t> tenant_limit;
  std::chrono::milliseconds idle_timeout{600'000};     ///< until one that is idle beyond pool_size is removed
  std::chrono::milliseconds running_timeout{120'000};  ///< until a lease ends by force
  std::uint32_t max_uses = 50;                         ///< until a sandbox is replaced
  Reuse reuse = Reuse::reset;                          ///< what happens to one that is given back
  AtLimit at_limit = AtLimit::wait;                    ///< of claims that do not say
  std::chrono::milliseconds wait_timeout{30'000};      ///< of a claim that waits
  std::uint32_t max_waiting = 1000;                    ///< claims in the queue; one more is refused at once
  std::chrono::milliseconds reset_timeout{5'000};      ///< until a sandbox that does not get clean is destroyed
  std::chrono::milliseconds health_interval{15'000};   ///< between two looks at an idle sandbox
};

/// A Python interpreter that is kept ready in each sandbox, these modules imported; see ExecSpec::zygote.
struct ZygoteSpec {
  std::string name = "python";          ///< what ExecSpec::zygote calls it
  std::string interpreter = "python3";  ///< found in the sandbox's PATH
  std::vector<std::string> imports;     ///< modules
};

/// A named kind of sandbox and its pool.
struct Profile {
  std::string name;     ///< letters, digits, '_' and '-'
  SandboxSpec sandbox;  ///< what each is made from
  /// Those of the sandbox's limits that stand over what a language brings: the ones its configuration names.
  LimitOverrides limits_set;
  PoolOptions pool;                      ///< how many are kept
  std::vector<ZygoteSpec> zygotes;       ///< kept ready in each
  std::optional<ScriptHarness> scripts;  ///< kept ready for run_script()
  /// For every program run in a lease. None of it is in the sandbox's own configuration.
  std::map<std::string, std::string> env;
  std::vector<std::string> secrets;  ///< by name; see ManagerOptions::secrets
};

/// What a claim binds to a warm sandbox. It all goes when the sandbox is given back.
struct ClaimOptions {
  std::string tenant;                                     ///< the trust domain
  std::optional<AtLimit> at_limit;                        ///< instead of the pool's
  std::optional<std::chrono::milliseconds> wait_timeout;  ///< instead of the pool's
  std::map<std::string, std::string> env;                 ///< over the profile's
  std::vector<std::string> secrets;                       ///< beside the profile's; each is set under its own name
  LimitOverrides limits;                                  ///< instead of the profile's
  std::string work_dir;                                   ///< programs start here; made if it is not there
  std::map<std::string, std::string> files;               ///< path, relative to the work directory, to content
};

/// How long claims took, from the call to the sandbox in hand.
struct CLOCHE_API LatencyHistogram {
  static constexpr std::chrono::microseconds first_bound{50};  ///< of the first bucket
  static constexpr int buckets = 20;  ///< bucket i counts up to first_bound * 2^i; the last one all the rest

  std::uint64_t counts[buckets] = {};  ///< in each bucket
  std::uint64_t count = 0;             ///< of all
  std::chrono::microseconds sum{};     ///< of all latencies

  /// Counts one more.
  void add(std::chrono::microseconds latency);
  /// The bound of the bucket that holds this share (0 to 1) of all; zero when there are none.
  std::chrono::microseconds quantile(double share) const;
};

/// What a pool has now, and what it has done since it was made.
struct PoolStats {
  std::uint32_t idle = 0;         ///< ready to be lent
  std::uint32_t active = 0;       ///< lent
  std::uint32_t total = 0;        ///< idle, lent, being made, reset or removed
  std::uint32_t pool_size = 0;    ///< as the options say
  std::uint32_t scale_limit = 0;  ///< as the options say
  double utilization = 0;         ///< percent of the total that is lent

  std::uint32_t making = 0;           ///< being made
  std::uint32_t resetting = 0;        ///< being reset
  std::uint32_t removing = 0;         ///< on their way out
  std::uint32_t waiting = 0;          ///< claims in the queue
  std::uint64_t claims = 0;           ///< served
  std::uint64_t refused = 0;          ///< at the limit, or waited too long
  std::uint64_t created = 0;          ///< sandboxes
  std::uint64_t create_failures = 0;  ///< sandboxes that could not be made
  std::uint64_t destroyed = 0;        ///< sandboxes
  std::uint64_t resets = 0;           ///< sandboxes given back that were made as good as new
  std::uint64_t resets_failed = 0;    ///< those that could not be proved clean, and were destroyed
  std::uint64_t revoked = 0;          ///< leases ended by running_timeout
  std::uint64_t lost = 0;             ///< sandboxes that died by themselves
  std::uint64_t unanswered = 0;       ///< idle sandboxes that did not answer when they were claimed
  LatencyHistogram claim_latency;     ///< of those served
};

}  // namespace cloche
