// Reaper and Cleanup: sandboxes of a service that are taken back, whatever happens on the way. What cannot be removed
// ends by itself when its life is over, which is soon; until then it is tried again.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backend/e2b/api/control.hpp"
#include "core/async/task_group.hpp"
#include "sandbox/held_ids.hpp"
#include "sandbox/unremoved.hpp"

namespace cloche::e2b {

// Removes the sandbox and returns once the service does not know it any more. Tries until the deadline.
Task<Status> remove_for_good(std::shared_ptr<Control> control, std::string remote_id, Deadline deadline);

class Reaper {
 public:
  Reaper(Executor executor, std::shared_ptr<Control> control, InstanceId instance);
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  const std::shared_ptr<Control>& control() const { return control_; }

  // `late`: the service may make the sandbox only after a while, or never.
  enum class Arrival { certain, late };
  // Removes all sandboxes with this id of ours, except the one with the service's id `kept`; tries for a while.
  void remove(std::string sandbox, Arrival arrival, std::string kept = "");
  // The same now, by the deadline.
  Task<Status> remove_now(std::string sandbox, Deadline deadline);

  // It could not be removed now; that is tried again later.
  void remember(const std::string& sandbox, const std::string& why);

  std::vector<Unremoved> unremoved() const;
  // Tries those again whose time has come.
  Task<> retry();

  struct Left;

 private:
  std::shared_ptr<Control> control_;
  InstanceId instance_;
  std::shared_ptr<Left> left_;
  TaskGroup tasks_;
};

// Registered before a sandbox is requested: removes what has its id, unless it is told to keep it.
class Cleanup {
 public:
  Cleanup(std::shared_ptr<Reaper> reaper, std::string sandbox);
  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;
  // Armed still, as after a cancellation: leaves the work to the reaper.
  ~Cleanup();

  // Set once the service has responded. Until then a sandbox may still appear.
  bool has_answered = false;

  void keep() { armed_ = false; }
  // Does it now, if it can be done now; else it is still armed. Not cancellable.
  Task<> run();

 private:
  std::shared_ptr<Reaper> reaper_;
  std::string sandbox_;
  bool armed_ = true;
};

}  // namespace cloche::e2b
