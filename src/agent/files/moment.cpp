#include "agent/files/moment.hpp"

#include <ctime>

#include "agent/files/tree/entries.hpp"

namespace cloche::agent {

namespace {

constexpr std::int64_t tick_timeout_ns = 200'000'000;

std::int64_t read_clock(clockid_t clock) {
  timespec now = {};
  ::clock_gettime(clock, &now);
  return nanoseconds(now);
}

}  // namespace

Moment::Moment() : Moment(read_clock(CLOCK_REALTIME)) {}

Moment::Moment(std::int64_t nanoseconds)
    : taken_(nanoseconds), given_up_at_(read_clock(CLOCK_MONOTONIC) + tick_timeout_ns) {}

bool Moment::has_passed() const {
  return read_clock(CLOCK_REALTIME_COARSE) > taken_ || read_clock(CLOCK_MONOTONIC) > given_up_at_;
}

}  // namespace cloche::agent
