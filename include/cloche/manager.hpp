/// @file
/// Warm pools for blocking code. The headers need only the C++ standard library.
///
///     cloche::Manager manager(cloche::load_config("cloche.yml"));
///     auto lease = manager.acquire("python");
///     auto result = lease->run({.argv = {"python3", "-c", "print(6 * 7)"}});
///     // the lease returns the sandbox to its pool
///
/// Calls may come from any thread. Errors are thrown (cloche/errors.hpp).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cloche/manager_options.hpp"
#include "cloche/sandbox.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// A sandbox leased from a pool. The destructor returns it to the pool.
class CLOCHE_API Lease {
 public:
  /// Returns the leased sandbox.
  Sandbox& operator*() { return sandbox_; }
  /// Returns the leased sandbox.
  Sandbox* operator->() { return &sandbox_; }

  /// Returns the sandbox to its pool. True if the lease still had it. Every call afterwards throws SandboxLostError.
  bool give_back();
  /// Removes the sandbox, which is not used again. Use this if the sandbox may be damaged or compromised.
  bool destroy();

  /// For internal use.
  explicit Lease(Sandbox sandbox) : sandbox_(std::move(sandbox)) {}

 private:
  Sandbox sandbox_;
};

/// The result of releasing or destroying a sandbox; see async::Returned.
enum class Returned { now, already, foreign };

/// Pools by the name or alias of their profile. The object has its own thread.
class CLOCHE_API Manager {
 public:
  /// Takes over or removes what an earlier process of the same instance left, and starts to fill the pools.
  explicit Manager(ManagerOptions options);
  Manager(Manager&&) noexcept;
  /// Shuts down. What could not be removed is logged.
  ~Manager();

  /// Leases a sandbox. Throws SandboxNotFoundError, which lists the existing pools, for an unknown pool;
  /// SandboxResourceError at the limit; SandboxTimeoutError after waiting; SandboxUnavailableError after shutdown.
  Lease acquire(const std::string& profile, ClaimOptions options = {});

  /// Calls `use` with a leased sandbox and returns the sandbox afterwards.
  template <class Use>
  decltype(auto) with(const std::string& profile, ClaimOptions options, Use&& use) {
    Lease lease = acquire(profile, std::move(options));
    return std::forward<Use>(use)(*lease);
  }
  /// The same without options.
  template <class Use>
  decltype(auto) with(const std::string& profile, Use&& use) {
    return with(profile, ClaimOptions(), std::forward<Use>(use));
  }

  /// Leases a sandbox for callers that release it themselves. A forgotten one is taken back after running_timeout.
  std::shared_ptr<Sandbox> get(const std::string& profile, ClaimOptions options = {});
  /// Returns a sandbox to its pool. It is reset before it is leased again.
  Returned release(const std::string& profile, const std::shared_ptr<Sandbox>& sandbox);
  /// Removes a sandbox. It is not used again.
  Returned destroy(const std::string& profile, const std::shared_ptr<Sandbox>& sandbox);

  /// Returns the names of the profiles.
  std::vector<std::string> profiles() const;
  /// Returns the statistics of every pool, by profile.
  std::map<std::string, PoolStats> stats() const;
  /// Changes the options of a pool. Surplus idle sandboxes are removed and missing ones are created.
  void resize(const std::string& profile, PoolOptions options);

  /// Stops leasing sandboxes, gives leases drain_timeout to end by themselves, then removes everything. Throws if
  /// something could not be removed.
  void shutdown();

  /// Waits for SIGTERM or SIGINT, shuts down, and returns the signal number. A second signal skips the wait for leases.
  /// Other threads may keep using the manager.
  int run_until_signalled();
  /// Does the same in the background. After the shutdown the process ends by that signal.
  void shutdown_on_signals();

  struct CLOCHE_LOCAL Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cloche
