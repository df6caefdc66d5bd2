// A point in time by which something must be done. It travels down as the last argument.
#pragma once

#include <algorithm>
#include <chrono>

namespace cloche {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline never() { return Deadline(Clock::time_point::max()); }
  static Deadline at(Clock::time_point when) { return Deadline(when); }
  static Deadline after(Clock::duration span) {
    const auto now = Clock::now();
    return Deadline(span > Clock::time_point::max() - now ? Clock::time_point::max() : now + span);
  }

  Clock::time_point time() const { return at_; }
  bool is_never() const { return at_ == Clock::time_point::max(); }
  bool passed() const { return Clock::now() >= at_; }
  Clock::duration left() const {
    return is_never() ? Clock::duration::max() : std::max(Clock::duration::zero(), at_ - Clock::now());
  }
  Deadline sooner(Deadline other) const { return Deadline(std::min(at_, other.at_)); }

 private:
  explicit Deadline(Clock::time_point when) : at_(when) {}
  Clock::time_point at_;
};

}  // namespace cloche
