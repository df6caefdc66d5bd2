// The place of one instance in the state directory: its identity, its journal, and the locks that let one process at a
// time be the owner of its sandboxes.
#pragma once

#include <memory>
#include <string>

#include "cloche/engine_options.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "host/owner_registry.hpp"
#include "sandbox/backend.hpp"

namespace cloche {

class InstanceDir {
 public:
  // already_exists when another process holds it, or when it is a copy of a directory that is still there. Says which,
  // and what to do.
  static Result<std::unique_ptr<InstanceDir>> claim(const EngineOptions& options);
  ~InstanceDir();
  InstanceDir(const InstanceDir&) = delete;
  InstanceDir& operator=(const InstanceDir&) = delete;

  const InstanceId& id() const { return id_; }
  std::string journal() const { return id_.place + "/journal.db"; }
  std::string sessions() const { return id_.place + "/sessions.db"; }
  std::string volumes() const { return id_.place + "/volumes"; }
  std::string e2b_key() const { return id_.place + "/e2b.key"; }
  std::string snapshots() const { return id_.place + "/snapshots"; }
  // Sandboxes may be made from now on. Until then this process leaves nothing that the host must remember.
  void will_make() { nothing_left_ = false; }
  // Nothing with this id is left: when this object is destroyed, the host can forget it.
  void leave_nothing() { nothing_left_ = true; }
  // This process has made nothing. The host forgets the id at once, unless an earlier process has left something.
  void made_nothing();

 private:
  InstanceDir(InstanceId id, UniqueFd lock, OwnerLock owner)
      : id_(std::move(id)),
        lock_(std::move(lock)),
        owner_(std::move(owner)),
        nothing_left_(owner_.found() == OwnerLock::Found::nothing) {}
  InstanceId id_;
  UniqueFd lock_;
  OwnerLock owner_;
  bool nothing_left_;
};

// Whether a process holds the instance that has this directory.
bool is_instance_held(const std::string& directory);

// The engine whose containers these are; empty for a backend without one.
std::string engine_of(const EngineOptions& options);
std::string backend_of(const EngineOptions& options);

}  // namespace cloche
