/// @file
/// Warm pools for plain blocking code. Needs nothing but the C++ standard library in its headers.
///
///     cloche::Manager manager(cloche::load_config("cloche.yml"));
///     auto lease = manager.acquire("python");
///     auto result = lease->run({.argv = {"python3", "-c", "print(6 * 7)"}});
///     // the sandbox goes back to its pool with the lease
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

/// A sandbox lent by a pool. Given back when it goes, on exceptions too.
class CLOCHE_API Lease {
 public:
  /// The sandbox that is lent.
  Sandbox& operator*() { return sandbox_; }
  /// The sandbox that is lent.
  Sandbox* operator->() { return &sandbox_; }

  /// True when it still had the sandbox. Afterwards every call throws SandboxLostError.
  bool give_back();
  /// For the poisoned: the sandbox is not used again.
  bool destroy();

  /// For Cloche's own use.
  explicit Lease(Sandbox sandbox) : sandbox_(std::move(sandbox)) {}

 private:
  Sandbox sandbox_;
};

/// What became of a sandbox that was given back or destroyed by name; see async::Returned.
enum class Returned { now, already, foreign };

/// Pools by the name of their profile, or by another name for it. Has a thread of its own.
class CLOCHE_API Manager {
 public:
  /// Meets again or removes what an earlier process of the same instance left, and begins to fill the pools.
  explicit Manager(ManagerOptions options);
  Manager(Manager&&) noexcept;
  /// Shuts down. What could not be removed is logged.
  ~Manager();

  /// SandboxNotFoundError lists the pools there are; SandboxResourceError at the limit, SandboxTimeoutError after
  /// waiting, SandboxUnavailableError after shutdown.
  Lease acquire(const std::string& profile, ClaimOptions options = {});

  /// Lends a sandbox to `use` for as long as it runs.
  template <class Use>
  decltype(auto) with(const std::string& profile, ClaimOptions options, Use&& use) {
    Lease lease = acquire(profile, std::move(options));
    return std::forward<Use>(use)(*lease);
  }
  /// The same with nothing bound.
  template <class Use>
  decltype(auto) with(const std::string& profile, Use&& use) {
    return with(profile, ClaimOptions(), std::forward<Use>(use));
  }

  /// For callers that give back by hand. One that is forgotten comes back by running_timeout.
  std::shared_ptr<Sandbox> get(const std::string& profile, ClaimOptions options = {});
  /// Gives it back; it is reset before anybody else has it.
  Returned release(const std::string& profile, const std::shared_ptr<Sandbox>& sandbox);
  /// It is not used again.
  Returned destroy(const std::string& profile, const std::shared_ptr<Sandbox>& sandbox);

  /// By name.
  std::vector<std::string> profiles() const;
  /// By profile.
  std::map<std::string, PoolStats> stats() const;
  /// From now on: too many that are idle go, too few are made.
  void resize(const std::string& profile, PoolOptions options);

  /// Nothing more is lent, leases have drain_timeout to end by themselves, then everything goes. Says what did not.
  void shutdown();

  /// Waits for SIGTERM or SIGINT, shuts down, and says which it was; a second signal hastens. Other threads may go on
  /// using the manager meanwhile.
  int run_until_signalled();
  /// The same beside the program's own work; afterwards the program ends by that signal.
  void shutdown_on_signals();

  struct CLOCHE_LOCAL Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cloche
