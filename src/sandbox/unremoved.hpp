// UnremovedList: sandboxes that could not be removed and that no one else will try to remove again, with the time of
// the next try. From all threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace cloche {

// A sandbox that resists its removal.
struct Unremoved {
  using Time = std::chrono::steady_clock::time_point;

  std::string sandbox;
  std::string why;  // the last try failed
  std::uint32_t tries = 0;
  Time since;
};

class UnremovedList {
 public:
  using Time = Unremoved::Time;

  // One more try failed. The next one is due after a pause, which doubles with each, up to five minutes.
  void failed(const std::string& sandbox, std::string why, Time now);
  void removed(const std::string& sandbox);

  // The longest known first.
  std::vector<Unremoved> all() const;
  // Those whose next attempt is due.
  std::vector<std::string> due(Time now) const;

 private:
  struct Entry {
    Unremoved about;
    Time next_try;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace cloche
