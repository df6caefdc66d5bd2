#include "core/async/loop_lag.hpp"

#include "core/async/event.hpp"

namespace cloche {

Task<> watch_loop_lag(Deadline::Clock::duration every, std::function<void(Deadline::Clock::duration)> tell) {
  for (;;) {
    const auto due = Deadline::Clock::now() + every;
    co_await pause_for(every);
    tell(std::max(Deadline::Clock::duration::zero(), Deadline::Clock::now() - due));
  }
}

}  // namespace cloche
