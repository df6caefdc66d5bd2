// Event: lets coroutines of one thread wait until something changed. It carries no data: who wakes looks again.
#pragma once

#include <boost/asio/steady_timer.hpp>

#include "core/task.hpp"

namespace cloche {

class Event {
 public:
  explicit Event(const Executor& executor) : timer_(executor, Deadline::Clock::time_point::max()) {}

  // Wakes all who wait now.
  void notify() { timer_.cancel(); }

  // Suspends until notify(), or until the deadline. Throws when the task is cancelled.
  Task<> wait(Deadline deadline = Deadline::never());

 private:
  asio::steady_timer timer_;
};

// Suspends for so long; throws when the task is cancelled.
Task<> pause_for(Deadline::Clock::duration span);

}  // namespace cloche
