/// @file
/// Warm pools for coroutines. Everything runs on the given executor, which must have one thread (or be a strand).
/// Blocking code uses cloche/manager.hpp instead.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cloche/async.hpp"
#include "cloche/manager_options.hpp"
#include "cloche/visibility.hpp"

namespace cloche::async {

/// A sandbox leased from a pool, with everything that its claim bound. The destructor returns it to the pool. When the
/// pool ends the lease first (running_timeout, shutdown), every call throws SandboxLostError.
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

  Lease();  ///< Creates an empty object that can only be assigned to.
  /// For internal use.
  explicit Lease(Sandbox sandbox);

 private:
  Sandbox sandbox_;
};

/// The result of releasing or destroying a sandbox.
enum class Returned {
  now,      ///< The sandbox was leased until now.
  already,  ///< The sandbox had already been released, destroyed or taken back; nothing was done.
  foreign,  ///< The sandbox does not belong to this pool; nothing was done.
};

/// Pools by the name or alias of their profile. Call shutdown() before the object is destroyed.
class CLOCHE_API Manager {
 public:
  /// Creates no sandboxes before start().
  Manager(boost::asio::any_io_executor executor, ManagerOptions options);
  Manager(Manager&&) noexcept;
  ~Manager();

  /// Takes over or removes what an earlier process of the same instance left, and starts to fill the pools.
  Task<> start();

  /// Leases a sandbox. Throws SandboxNotFoundError, which lists the existing pools, for an unknown pool;
  /// SandboxResourceError at the limit; SandboxTimeoutError after waiting; SandboxUnavailableError after shutdown.
  Task<Lease> acquire(std::string profile);
  /// Leases a sandbox and binds env, secrets, limits and files to the lease.
  Task<Lease> acquire(std::string profile, ClaimOptions options);

  /// Calls `use`, a coroutine function, with a leased sandbox and returns the sandbox afterwards.
  template <class Use>
  auto with(std::string profile, ClaimOptions options, Use use) -> std::invoke_result_t<Use&, Sandbox&> {
    Lease lease = co_await acquire(std::move(profile), std::move(options));
    co_return co_await use(*lease);
  }

  /// Leases a sandbox for callers that release it themselves. A forgotten one is taken back after running_timeout.
  Task<std::shared_ptr<Sandbox>> get(std::string profile);
  /// The same, with options for the claim.
  Task<std::shared_ptr<Sandbox>> get(std::string profile, ClaimOptions options);
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

  /// Stops leasing sandboxes, gives leases drain_timeout to end by themselves, then removes everything.
  Task<> shutdown();
  /// Makes a running shutdown stop waiting for leases.
  void hasten();

  struct CLOCHE_LOCAL Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cloche::async
