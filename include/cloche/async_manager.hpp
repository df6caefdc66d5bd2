/// @file
/// Warm pools for coroutines. Everything runs on the executor given, which must be of one thread (or a strand).
/// Plain blocking code uses cloche/manager.hpp instead.
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

/// A sandbox lent by a pool, with what its claim has bound. Given back when it goes, on exceptions too. When the pool
/// ends the lease first (running_timeout, shutdown), every call throws SandboxLostError.
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

  Lease();  ///< none; only good for being assigned to
  /// For Cloche's own use.
  explicit Lease(Sandbox sandbox);

 private:
  Sandbox sandbox_;
};

/// What became of a sandbox that was given back or destroyed by name.
enum class Returned {
  now,      ///< it was lent until now
  already,  ///< it was given back, destroyed or taken back before; nothing was done
  foreign,  ///< it is not of this pool; nothing was done
};

/// Pools by the name of their profile, or by another name for it. Must be shut down before it goes.
class CLOCHE_API Manager {
 public:
  /// Nothing is made before start().
  Manager(boost::asio::any_io_executor executor, ManagerOptions options);
  Manager(Manager&&) noexcept;
  ~Manager();

  /// Meets again or removes what an earlier process of the same instance left, and begins to fill the pools.
  Task<> start();

  /// SandboxNotFoundError lists the pools there are; SandboxResourceError at the limit, SandboxTimeoutError after
  /// waiting, SandboxUnavailableError after shutdown.
  Task<Lease> acquire(std::string profile);
  /// The same, with what the claim binds: env, secrets, limits, files.
  Task<Lease> acquire(std::string profile, ClaimOptions options);

  /// Lends a sandbox to `use`, a coroutine function, for as long as it runs.
  template <class Use>
  auto with(std::string profile, ClaimOptions options, Use use) -> std::invoke_result_t<Use&, Sandbox&> {
    Lease lease = co_await acquire(std::move(profile), std::move(options));
    co_return co_await use(*lease);
  }

  /// For callers that give back by hand. One that is forgotten comes back by running_timeout.
  Task<std::shared_ptr<Sandbox>> get(std::string profile);
  /// The same, with what the claim binds.
  Task<std::shared_ptr<Sandbox>> get(std::string profile, ClaimOptions options);
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

  /// Nothing more is lent, leases have drain_timeout to end by themselves, then everything goes.
  Task<> shutdown();
  /// A shutdown that goes on waits for no lease any more.
  void hasten();

  struct CLOCHE_LOCAL Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace cloche::async
