#include "sandbox/memory_guard.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace cloche {

namespace {

// Programs on gVisor were measured to fill less than 1 GiB a second for each processor.
constexpr std::uint64_t fill_bytes_per_ms = mib(2).count;
constexpr std::chrono::milliseconds shortest_look_interval{5};
constexpr std::chrono::milliseconds longest_look_interval{200};
// A program that was killed takes some time to give its memory back.
constexpr std::chrono::milliseconds time_to_die{100};

}  // namespace

std::chrono::milliseconds time_to_next_look(const MemoryUse& use) {
  const std::uint64_t left = use.used < use.limit ? use.limit.count - use.used.count : 0;
  return std::clamp(std::chrono::milliseconds(left / fill_bytes_per_ms), shortest_look_interval, longest_look_interval);
}

MemoryGuard::Place& MemoryGuard::Place::operator=(Place&& other) noexcept {
  leave();
  guard_ = std::move(other.guard_);
  kill_ = other.kill_;
  return *this;
}

void MemoryGuard::Place::leave() {
  const auto guard = std::exchange(guard_, nullptr);
  if (!guard) return;
  guard->kills_.erase(kill_);
  guard->killed_ = std::min(guard->killed_, guard->kills_.size());
}

MemoryGuard::Place MemoryGuard::watch(std::function<void()> kill) {
  kills_.push_back(std::move(kill));
  Place place(shared_from_this(), std::prev(kills_.end()));
  if (!waits_) look();
  return place;
}

void MemoryGuard::look() {
  const auto use = read_();
  if (!use) return;
  if (use->used <= use->limit) {
    killed_ = 0;
    look_after(time_to_next_look(*use));
    return;
  }
  killed_ = std::min(killed_ + 1, kills_.size());
  // A copy: a program that is killed may leave.
  const std::vector<std::function<void()>> victims(std::prev(kills_.end(), static_cast<std::ptrdiff_t>(killed_)),
                                                   kills_.end());
  look_after(time_to_die);
  for (const auto& kill : victims) kill();
}

void MemoryGuard::look_after(std::chrono::milliseconds time) {
  waits_ = true;
  timer_.expires_after(time);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code&) {
    const auto guard = weak.lock();
    if (!guard) return;
    guard->waits_ = false;
    if (!guard->kills_.empty()) guard->look();
  });
}

}  // namespace cloche
