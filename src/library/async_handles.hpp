// The implementation of the sandboxes that users hold: private ones, or leased from a pool.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cloche/async.hpp"
#include "library/async_engine.hpp"
#include "pool/lease.hpp"

namespace cloche::async {

struct Sandbox::Impl {
  std::shared_ptr<Engine::Impl> engine;
  std::shared_ptr<LiveSandbox> live;  // none after destroy() or when it was given back
  std::optional<pool::Lease> lease;   // if it is leased
  const void* lender = nullptr;       // the pool that leased it
  // It ends with `live`: a handle that still uses the sandbox sees that it no longer belongs to the caller, although it
  // may still exist and be leased to another one.
  std::shared_ptr<const char> held = std::make_shared<const char>();

  const std::shared_ptr<LiveSandbox>& share() const {
    if (!live) throw SandboxLostError(lease ? "the sandbox was released" : "the sandbox was destroyed");
    return live;
  }
  LiveSandbox& get() const { return *share(); }
  std::shared_ptr<LiveSandbox> let_go() {
    held.reset();
    return std::exchange(live, nullptr);
  }
  FilePath place(std::string path) const {
    if (lease) return lease->place(std::move(path));
    if (path.starts_with('/')) return FilePath(std::move(path));
    return FilePath::beneath(get().spec().work_dir, std::move(path));
  }
  void bind(ExecSpec& spec) const {
    if (lease) lease->binding().apply_to(spec);
  }
};

// How the engine hands out sandboxes, and a manager its leases.
Sandbox wrap(std::shared_ptr<Engine::Impl> engine, std::unique_ptr<LiveSandbox> sandbox);
Sandbox wrap(std::shared_ptr<Engine::Impl> engine, pool::Lease lease, const void* lender);
// True if it was still leased.
bool give_back(Sandbox::Impl& sandbox);
bool destroy_lent(Sandbox::Impl& sandbox);

}  // namespace cloche::async
