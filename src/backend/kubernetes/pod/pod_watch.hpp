// PodWatch: the pods of this owner as the cluster reports them, kept current by one list and one watch for as long as
// anything waits for one of them.
//
// A watch that ends is continued at the version that was seen last; one that the server cannot continue (410) begins
// with a list again. While the server does not respond, the last known state stays.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/kubernetes/api/api.hpp"
#include "backend/kubernetes/pod/pod.hpp"
#include "core/async/task_group.hpp"

namespace cloche::kubernetes {

// One line of a watch. Pure.
struct WatchEvent {
  enum class Kind { changed, deleted, bookmark, expired, unknown };
  Kind kind = Kind::unknown;
  std::string resource_version;
  Pod pod;  // of changed and deleted
};
// protocol if it is not an event; the server's error if it is one other than `expired`.
Result<WatchEvent> read_watch_event(std::string_view line);

class PodWatch {
 public:
  PodWatch(Executor executor, std::shared_ptr<Api> api, std::string query);
  PodWatch(const PodWatch&) = delete;
  PodWatch& operator=(const PodWatch&) = delete;

  // Waits until `is_wanted` of the pod. A pod that is not known is asked for, and not_found if there is none. timeout
  // leaves the last state in `last`.
  Task<Result<Pod>> wait(std::string name, std::function<bool(const Pod&)> is_wanted, Deadline deadline,
                         Pod* last = nullptr);
  // Waits until the cluster does not know the pod with this uid any more.
  Task<Status> wait_until_gone(std::string name, std::string uid, Deadline deadline);
  // The last known state; null if there is none, or nothing waits.
  std::shared_ptr<const Pod> known(const std::string& name) const;
  // Learned otherwise, such as from a response. Forgotten if nothing waits.
  void note(const Pod& pod);

  struct State;

 private:
  // One that waits.
  class Waiter {
   public:
    explicit Waiter(PodWatch& watch) : watch_(watch) {
      if (watch_.waiters_++ == 0) watch_.start();
    }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    ~Waiter() {
      if (--watch_.waiters_ == 0) watch_.stop();
    }

   private:
    PodWatch& watch_;
  };
  void start();
  void stop();
  Task<Result<Pod>> ask(std::string name, Deadline deadline);

  Executor executor_;
  std::shared_ptr<State> state_;
  std::size_t waiters_ = 0;
  std::unique_ptr<TaskGroup> tasks_;
};

}  // namespace cloche::kubernetes
