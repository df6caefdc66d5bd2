// TaskGroup: owns the coroutines an object started. Declare it as the last member.
//
// No task is detached: before the group's owner is destroyed, `co_await group.shut_down()` cancels and joins them all.
// A group destroyed with tasks still running cancels them; the tasks' frames then end on the executor and must not use
// their owner any more, which is why owners shut their group down first.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <functional>
#include <memory>
#include <string>

#include "core/async/event.hpp"
#include "core/async/task.hpp"

namespace cloche {

class TaskGroup {
 public:
  explicit TaskGroup(Executor executor);
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  ~TaskGroup();

  // Starts the coroutine that `start` returns. Takes the function, not its task, and keeps it alive until the task
  // ends, so that a lambda's captures outlive its frame. An exception other than cancellation is logged under `name`;
  // a task that others wait for has to end that wait itself.
  //
  // On the executor's own thread the task runs immediately, up to its first suspension, before this returns.
  //
  // After cancel() or shut_down() nothing is started: returns false, and `start` is destroyed.
  bool spawn(std::string name, std::function<Task<>()> start);

  // Asks all tasks to end, and closes the group for good.
  void cancel();
  // Waits until all have ended; others may be started meanwhile.
  Task<> join();
  // Cancels and joins, and is not itself cancellable.
  Task<> shut_down();

  std::size_t size() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cloche
