// Moment: a time that separates files changed before it from files changed after it.
//
// The time that counts is that of an inode's last change (ctime), which a program cannot set. The kernel stamps files
// by a coarse clock, which lags behind the fine one by up to a tick. A moment is a time of the fine clock, to be given
// away once the coarse clock has passed it: then whatever was changed before it was taken is not younger than it, and
// whatever is changed from now on is.
#pragma once

#include <cstdint>

namespace cloche::agent {

class Moment {
 public:
  // Now, or an earlier time after which nothing has been changed.
  Moment();
  explicit Moment(std::int64_t nanoseconds);
  // Also if that takes too long: a clock that is set back does not block.
  bool has_passed() const;
  std::int64_t nanoseconds() const { return taken_; }

 private:
  std::int64_t taken_;
  std::int64_t given_up_at_;  // by a clock that cannot be set
};

}  // namespace cloche::agent
