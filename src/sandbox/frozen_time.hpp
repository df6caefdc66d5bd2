// FrozenTime: for how long a sandbox was frozen. PatientDeadline: a deadline that does not count such time, because the
// agent cannot respond then.
#pragma once

#include "core/deadline.hpp"

namespace cloche {

class FrozenTime {
 public:
  using Clock = Deadline::Clock;

  bool is_frozen() const { return is_frozen_; }
  void set_frozen(bool frozen) {
    if (frozen == is_frozen_) return;
    if (frozen) {
      since_ = Clock::now();
    } else {
      earlier_ += Clock::now() - since_;
    }
    is_frozen_ = frozen;
  }
  // Altogether, up to now.
  Clock::duration total() const { return is_frozen_ ? earlier_ + (Clock::now() - since_) : earlier_; }

 private:
  bool is_frozen_ = false;
  Clock::time_point since_;
  Clock::duration earlier_{};
};

// The FrozenTime outlives it.
class PatientDeadline {
 public:
  PatientDeadline(const FrozenTime& frozen, Deadline deadline)
      : frozen_(frozen), deadline_(deadline), before_(frozen.total()) {}

  // Until when to wait; never while it is frozen. To be asked again after each wait, and after a thaw.
  Deadline current() const {
    if (deadline_.is_never() || frozen_.is_frozen()) return Deadline::never();
    const auto added = frozen_.total() - before_;
    const bool is_beyond = added > Deadline::never().time() - deadline_.time();
    return is_beyond ? Deadline::never() : Deadline::at(deadline_.time() + added);
  }
  bool passed() const { return current().passed(); }

 private:
  const FrozenTime& frozen_;
  Deadline deadline_;
  FrozenTime::Clock::duration before_;
};

}  // namespace cloche
