// Reaper: removes pods, also after the call that wanted it is gone, and keeps a list of those that resist.
#pragma once

#include <memory>
#include <string>

#include "backend/kubernetes/api/api.hpp"
#include "backend/kubernetes/pod/pod_watch.hpp"
#include "core/async/task_group.hpp"
#include "sandbox/held_ids.hpp"
#include "sandbox/unremoved.hpp"

namespace cloche::kubernetes {

// What is needed to remove a pod, shared with tasks that outlive their starter.
struct Removal {
  std::shared_ptr<Api> api;
  std::shared_ptr<PodWatch> watch;
  InstanceId instance;
};

// Deletes the pod with this uid and returns once the cluster does not know it any more. Tries until the deadline.
Task<Status> remove_pod(const Removal& removal, std::string name, std::string uid, Deadline deadline);

class Reaper {
 public:
  Reaper(Executor executor, Removal removal);
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  const Removal& removal() const { return removal_; }

  // `late`: the cluster may create the pod only after a while, or never.
  enum class Arrival { certain, late };
  // Removes the pod of this sandbox, if it is this owner's; tries for a while.
  void remove(std::string sandbox, Arrival arrival);
  // The same now, by the deadline.
  Task<Status> remove_now(std::string sandbox, Deadline deadline);

  // It could not be removed now; that is tried again later.
  void remember(const std::string& sandbox, const std::string& why);

  std::vector<Unremoved> unremoved() const;
  // Tries those again whose time has come.
  Task<> retry();

  struct Left;

 private:
  Removal removal_;
  std::shared_ptr<Left> left_;
  TaskGroup tasks_;
};

// Registered before a pod is requested: removes the pod of this sandbox, unless it is told to keep it.
class Cleanup {
 public:
  Cleanup(std::shared_ptr<Reaper> reaper, std::string sandbox);
  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;
  // Armed still, as after a cancellation: leaves the work to the reaper.
  ~Cleanup();

  // Nothing was sent to the cluster, or the cluster has said that it created nothing.
  bool is_needed = true;
  // A request was sent and no response came: the pod may still appear.
  bool may_come_late = true;

  void keep() { armed_ = false; }
  // Does it now, if it can be done now; else it is still armed. Not cancellable.
  Task<> run();

 private:
  std::shared_ptr<Reaper> reaper_;
  std::string sandbox_;
  bool armed_ = true;
};

}  // namespace cloche::kubernetes
