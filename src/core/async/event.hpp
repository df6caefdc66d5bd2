// Event: lets coroutines of one thread wait until something changed. It carries no data: a waiter checks its condition
// again.
#pragma once

#include <boost/asio/steady_timer.hpp>

#include "core/async/task.hpp"

namespace cloche {

class Event {
 public:
  explicit Event(const Executor& executor) : timer_(executor, Deadline::Clock::time_point::max()) {}

  // Wakes all current waiters.
  void notify() { timer_.cancel(); }

  // Suspends until notify(), or until the deadline. Throws when the task is cancelled.
  Task<> wait(Deadline deadline = Deadline::never());

 private:
  asio::steady_timer timer_;
};

// Suspends forever; throws when the task is cancelled. For a task that must not end before another one does.
Task<> never();

// Suspends for this time; throws when the task is cancelled.
Task<> pause_for(Deadline::Clock::duration span);

}  // namespace cloche
