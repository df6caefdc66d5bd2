// LoopLag: how late the one thread that owns all state gets to what is due. Work that holds the thread up holds up
// every caller; this is how it shows.
#pragma once

#include <functional>

#include "core/async/task.hpp"

namespace cloche {

// Waits for this time again and again, and reports each time how late it woke up. Until it is cancelled.
Task<> watch_loop_lag(Deadline::Clock::duration every, std::function<void(Deadline::Clock::duration)> tell);

}  // namespace cloche
