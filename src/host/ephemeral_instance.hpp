// An instance that lives as long as its process: for one-shot commands and programs that name none.
//
// Nothing keeps its id but the host's registry of owners. An entry whose process has ended names an instance that left
// something behind; the next engine removes it.
#pragma once

#include <memory>
#include <vector>

#include "cloche/engine_options.hpp"
#include "core/result.hpp"
#include "host/owner_registry.hpp"
#include "sandbox/backend.hpp"

namespace cloche {

class EphemeralInstance {
 public:
  static Result<std::unique_ptr<EphemeralInstance>> claim(const EngineOptions& options);
  ~EphemeralInstance();
  EphemeralInstance(const EphemeralInstance&) = delete;
  EphemeralInstance& operator=(const EphemeralInstance&) = delete;

  const InstanceId& id() const { return id_; }
  // Something could not be removed: the entry stays, and the next engine tries again.
  void leave_to_the_next() { leaves_something_ = true; }

 private:
  EphemeralInstance(InstanceId id, OwnerLock owner) : id_(std::move(id)), owner_(std::move(owner)) {}
  InstanceId id_;
  OwnerLock owner_;
  bool leaves_something_ = false;
};

// Passing instances of this backend, engine and run directory whose process has ended. Each is locked until its lock is
// destroyed, or released, which forgets it. Those of other run directories are left to `cloche doctor`.
std::vector<OwnerLock> find_abandoned_ephemeral(const EngineOptions& options);

}  // namespace cloche
