// Reaper and Cleanup: containers that are taken back, whatever happens on the way.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backend/docker/container_calls.hpp"
#include "core/task_group.hpp"
#include "sandbox/unremoved.hpp"

namespace cloche::docker {

// Removes the container and returns once the engine does not know it any more. Goes on trying until the deadline.
Task<Status> remove_for_good(std::shared_ptr<Engine> engine, std::string container, Deadline deadline);

// Owns the removals that nobody waits for. Their tasks do not heed a cancellation: whoever cancels does not want the
// containers either.
class Reaper {
 public:
  Reaper(Executor executor, std::shared_ptr<Engine> engine);
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  // What could not be removed by then is left to `recover`.
  ~Reaper();

  const std::shared_ptr<Engine>& engine() const { return engine_; }

  // Removes what bears the label; goes on trying for a while, and once more when the engine is back. `late`: the
  // container may turn up only after a while, or never.
  enum class Arrival { certain, late };
  void remove_labelled(std::string label, std::string value, Arrival arrival);

  // What an earlier process asked for and did not live to hear of may still turn up. Looks for it for some seconds:
  // removes what bears all of these labels, was never started and is held by nobody here.
  using IsHeld = std::function<bool(const LabelMap& labels)>;
  void remove_strays(LabelMap labels, IsHeld is_held);

  // What bears the label could not be removed just now, and is tried again by and by.
  void remember(std::string label, std::string value, std::string why);

  // The engine is there: what could not be removed can be now.
  void engine_answers();

  // Those that could not be removed, by the label's value.
  std::vector<Unremoved> unremoved() const;
  // Tries those again whose time has come.
  Task<> retry();

  struct Left;

 private:
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Left> left_;
  TaskGroup tasks_;
};

// Registered before a container is asked for: removes what bears the label, unless told to keep it. By label and not by
// name, since a name may turn out to be somebody else's.
class Cleanup {
 public:
  Cleanup(std::shared_ptr<Reaper> reaper, std::string label, std::string value);
  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;
  // Armed still, as after a cancellation: leaves the work to the reaper.
  ~Cleanup();

  // The engine's answer is there: it has made the container, or will not. Until then one may still turn up.
  void answered() { arrival_ = Reaper::Arrival::certain; }
  void keep() { armed_ = false; }
  // Does it now, if it can be done now; else it is still armed. Not cancellable.
  Task<> run();

 private:
  std::shared_ptr<Reaper> reaper_;
  std::string label_;
  std::string value_;
  Reaper::Arrival arrival_ = Reaper::Arrival::late;
  bool armed_ = true;
};

}  // namespace cloche::docker
