// Pace: a bound on requests a second, with some at once. One thread.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/async/event.hpp"

namespace cloche::kubernetes {

class Pace {
 public:
  Pace(double per_second, double at_once) : rate_(per_second), most_(at_once), left_(at_once) {}

  // Waits for its turn; false if the deadline would pass before.
  Task<bool> take(Deadline deadline) {
    using Clock = Deadline::Clock;
    const auto now = Clock::now();
    left_ = std::min(most_, left_ + rate_ * std::chrono::duration<double>(now - last_).count());
    last_ = now;
    left_ -= 1;
    if (left_ >= 0) co_return true;
    const auto wait = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(-left_ / rate_));
    if (!deadline.is_never() && wait >= deadline.left()) {
      left_ += 1;
      co_return false;
    }
    co_await pause_for(wait);
    co_return true;
  }

 private:
  double rate_;
  double most_;
  double left_;  // negative: turns that are waited for
  Deadline::Clock::time_point last_ = Deadline::Clock::now();
};

}  // namespace cloche::kubernetes
