#include "agent/reset/writer_tracker.hpp"

#include <algorithm>
#include <ctime>

#include "agent/files/tree/entries.hpp"

namespace cloche::agent {

namespace {

std::int64_t now_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

}  // namespace

WriterTracker::WriterTracker() : ended_ns_(now_ns()) {}

WriterTracker::Writer WriterTracker::begin() {
  ++active_;
  ++beginnings_;
  return Writer(this);
}

void WriterTracker::end() {
  --active_;
  ended_ns_ = now_ns();
}

std::int64_t WriterTracker::last_change(const std::string& place) const {
  const std::int64_t now = now_ns();
  if (shared_ || active_ > 0) return now;
  std::int64_t last = ended_ns_;
  if (found_ && found_->scan.place == place && found_->scan.beginnings == beginnings_) last = found_->newest_ns;
  // A clock that was set back would have us wait for a time that was.
  return std::min(last, now);
}

std::optional<WriterTracker::Scan> WriterTracker::begin_scan(std::string place) const {
  if (shared_ || active_ > 0) return std::nullopt;
  return Scan{std::move(place), beginnings_};
}

void WriterTracker::end_scan(Scan scan, std::int64_t newest_ns) {
  if (scan.beginnings == beginnings_) found_ = Found{std::move(scan), newest_ns};
}

}  // namespace cloche::agent
