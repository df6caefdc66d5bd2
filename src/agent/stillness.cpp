#include "agent/stillness.hpp"

#include <algorithm>
#include <ctime>

#include "agent/files/entries.hpp"

namespace cloche::agent {

namespace {

std::int64_t now_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

}  // namespace

Stillness::Stillness() : ended_ns_(now_ns()) {}

Stillness::Work Stillness::begin() {
  ++living_;
  ++beginnings_;
  return Work(this);
}

void Stillness::end() {
  --living_;
  ended_ns_ = now_ns();
}

std::int64_t Stillness::last_change(const std::string& place) const {
  const std::int64_t now = now_ns();
  if (shared_ || living_ > 0) return now;
  std::int64_t last = ended_ns_;
  if (found_ && found_->look.place == place && found_->look.beginnings == beginnings_) last = found_->newest_ns;
  // A clock that was set back would have us wait for a time that was.
  return std::min(last, now);
}

std::optional<Stillness::Look> Stillness::look_at(std::string place) const {
  if (shared_ || living_ > 0) return std::nullopt;
  return Look{std::move(place), beginnings_};
}

void Stillness::found(Look look, std::int64_t newest_ns) {
  if (look.beginnings == beginnings_) found_ = Found{std::move(look), newest_ns};
}

}  // namespace cloche::agent
