// Profile: a named kind of sandbox, and how a pool keeps sandboxes of that kind warm.
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

namespace cloche {

// What a claim does when every sandbox is lent and the pool may not make another.
enum class AtLimit { wait, fail };

// What happens to a sandbox that is given back. Whatever is chosen, it never serves another tenant.
enum class Reuse {
  reset,  // made as good as new, proved, and lent again
  never,  // destroyed and replaced
};

struct PoolOptions {
  std::uint32_t pool_size = 3;                         // kept warm: ready to be lent at once
  std::uint32_t scale_limit = 10;                      // there are never more, lent or not, being made or being removed
  std::chrono::milliseconds idle_timeout{600'000};     // until one that is idle beyond pool_size is removed
  std::chrono::milliseconds running_timeout{120'000};  // until a lease ends by force
  std::uint32_t max_uses = 50;
  Reuse reuse = Reuse::reset;
  AtLimit at_limit = AtLimit::wait;
  std::chrono::milliseconds wait_timeout{30'000};  // of a claim that waits
  std::uint32_t max_waiting = 1000;
  std::chrono::milliseconds reset_timeout{5'000};
  std::chrono::milliseconds health_interval{15'000};  // between two looks at an idle sandbox
};

// A Python interpreter that is kept ready in each sandbox, these modules imported; see ExecSpec::zygote.
struct ZygoteSpec {
  std::string name = "python";
  std::string interpreter = "python3";
  std::vector<std::string> imports;
};

struct Profile {
  std::string name;  // letters, digits, '_' and '-'
  SandboxSpec sandbox;
  PoolOptions pool;
  std::vector<ZygoteSpec> zygotes;
  std::optional<ScriptHarness> scripts;  // kept ready for run_script()
  // For every program run in a lease. None of it is in the sandbox's own configuration.
  std::map<std::string, std::string> env;
  std::vector<std::string> secrets;  // by name; see ManagerOptions::secrets
};

// What a claim binds to a warm sandbox. It all goes when the sandbox is given back.
struct ClaimOptions {
  std::string tenant;                                     // the trust domain
  std::optional<AtLimit> at_limit;                        // instead of the pool's
  std::optional<std::chrono::milliseconds> wait_timeout;  // instead of the pool's
  std::map<std::string, std::string> env;                 // over the profile's
  std::vector<std::string> secrets;                       // beside the profile's; each is set under its own name
  LimitOverrides limits;                                  // instead of the profile's
  std::string work_dir;                                   // programs start here; made if it is not there
  std::map<std::string, std::string> files;               // path, relative to the work directory, to content
};

// How long claims took, from the call to the sandbox in hand.
struct LatencyHistogram {
  static constexpr std::chrono::microseconds first_bound{50};
  static constexpr int buckets = 20;  // bucket i counts up to first_bound * 2^i; the last one all the rest

  std::uint64_t counts[buckets] = {};
  std::uint64_t count = 0;
  std::chrono::microseconds sum{};

  void add(std::chrono::microseconds latency);
  // The bound of the bucket that holds this share (0 to 1) of all; zero when there are none.
  std::chrono::microseconds quantile(double share) const;
};

struct PoolStats {
  std::uint32_t idle = 0;
  std::uint32_t active = 0;  // lent
  std::uint32_t total = 0;   // idle, lent, being made, reset or removed
  std::uint32_t pool_size = 0;
  std::uint32_t scale_limit = 0;
  double utilization = 0;  // percent of the total that is lent

  std::uint32_t making = 0;
  std::uint32_t resetting = 0;
  std::uint32_t removing = 0;
  std::uint32_t waiting = 0;  // claims in the queue
  std::uint64_t claims = 0;   // served
  std::uint64_t refused = 0;  // at the limit, or waited too long
  std::uint64_t created = 0;
  std::uint64_t create_failures = 0;
  std::uint64_t destroyed = 0;
  std::uint64_t resets = 0;
  std::uint64_t resets_failed = 0;
  std::uint64_t revoked = 0;  // leases ended by running_timeout
  std::uint64_t lost = 0;     // sandboxes that died by themselves
  LatencyHistogram claim_latency;
};

}  // namespace cloche
