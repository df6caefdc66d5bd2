#include "sandbox/unremoved.hpp"

#include <algorithm>

namespace cloche {

namespace {

constexpr std::chrono::seconds first_wait{2};
constexpr std::chrono::seconds longest_wait{300};
constexpr std::uint32_t most_doublings = 8;

}  // namespace

void UnremovedList::failed(const std::string& sandbox, std::string why, Time now) {
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = entries_.try_emplace(sandbox);
  Entry& entry = place->second;
  if (is_new) {
    entry.about.sandbox = sandbox;
    entry.about.since = now;
  }
  const auto pause = first_wait * (1U << std::min(entry.about.tries, most_doublings));
  entry.about.why = std::move(why);
  ++entry.about.tries;
  entry.next_try = now + std::min<std::chrono::seconds>(pause, longest_wait);
}

void UnremovedList::removed(const std::string& sandbox) {
  const std::lock_guard lock(mutex_);
  entries_.erase(sandbox);
}

std::vector<Unremoved> UnremovedList::all() const {
  std::vector<Unremoved> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [sandbox, entry] : entries_) all.push_back(entry.about);
  }
  std::ranges::stable_sort(all, {}, &Unremoved::since);
  return all;
}

std::vector<std::string> UnremovedList::due(Time now) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> due;
  for (const auto& [sandbox, entry] : entries_) {
    if (entry.next_try <= now) due.push_back(sandbox);
  }
  return due;
}

}  // namespace cloche
