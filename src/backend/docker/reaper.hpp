// Reaper and Cleanup: containers that are taken back, whatever happens on the way.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backend/docker/engine/container_calls.hpp"
#include "core/async/task_group.hpp"
#include "sandbox/unremoved.hpp"

namespace cloche::docker {

// Removes the container and returns once the engine does not know it any more. Goes on trying until the deadline.
Task<Status> remove_for_good(std::shared_ptr<Engine> engine, std::string container, Deadline deadline);

// Owns removals that run in the background. Their tasks ignore cancellation: a caller that cancels does not want the
// containers either.
class Reaper {
 public:
  Reaper(Executor executor, std::shared_ptr<Engine> engine);
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  // What could not be removed by then is left to `recover`.
  ~Reaper();

  const std::shared_ptr<Engine>& engine() const { return engine_; }

  // Removes containers with the label; retries for a while, and again when the engine is back. `late`: the container
  // may appear only after a while, or never.
  enum class Arrival { certain, late };
  void remove_labelled(std::string label, std::string value, Arrival arrival);

  // A container that an earlier process requested without seeing the response may still appear. Searches for some
  // seconds: removes containers with all of these labels that were never started and are not held here.
  using IsHeld = std::function<bool(const LabelMap& labels)>;
  void remove_strays(LabelMap labels, IsHeld is_held);

  // A container with the label could not be removed now; the removal is retried later.
  void remember(std::string label, std::string value, std::string why);

  // The engine responds: what could not be removed before can be removed now.
  void engine_answers();

  // Containers that could not be removed, by the label's value.
  std::vector<Unremoved> unremoved() const;
  // Tries those again whose time has come.
  Task<> retry();

  struct Left;

 private:
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Left> left_;
  TaskGroup tasks_;
};

// Registered before a container is requested: removes containers with the label, unless it is told to keep them. By
// label and not by name, because a name may already belong to another container.
class Cleanup {
 public:
  Cleanup(std::shared_ptr<Reaper> reaper, std::string label, std::string value);
  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;
  // Armed still, as after a cancellation: leaves the work to the reaper.
  ~Cleanup();

  // The engine has responded: it has created the container, or will not. Until then one may still appear.
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
