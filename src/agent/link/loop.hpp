// Loop: the agent's one thread waits here for descriptors and timers, and calls who asked.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/unique_fd.hpp"

namespace cloche::agent {

class Loop {
 public:
  using Clock = std::chrono::steady_clock;

  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Calls back while the descriptor is ready, until the FdWatcher is destroyed. The descriptor stays its owner's and
  // must outlive the FdWatcher.
  class FdWatcher;
  FdWatcher watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> on_ready);

  // Calls back once, unless the Timer is destroyed first.
  class Timer;
  Timer after(Clock::duration span, std::function<void()> on_time);

  // Calls back once, from the loop itself, after what runs now has returned: how an object ends itself.
  void later(std::function<void()> work);

  void run();
  void stop() { stopped_ = true; }

 private:
  struct Entry {
    int fd = -1;
    std::uint32_t events = 0;  // none when paused or removed, and then epoll does not know of it
    std::function<void(std::uint32_t)> on_ready;
  };
  using Timers = std::multimap<Clock::time_point, std::shared_ptr<std::function<void()>>>;

  void dispatch_timers();
  int next_timeout() const;

  UniqueFd epoll_;
  bool stopped_ = false;
  Timers timers_;
  std::vector<std::function<void()>> later_;
  // Entries removed while events are dispatched; an event for one of them may still be in hand.
  std::vector<std::shared_ptr<Entry>> removed_;
};

class Loop::FdWatcher {
 public:
  FdWatcher() = default;
  FdWatcher(FdWatcher&& other) noexcept : loop_(std::exchange(other.loop_, nullptr)), entry_(std::move(other.entry_)) {}
  FdWatcher& operator=(FdWatcher&& other) noexcept;
  ~FdWatcher() { reset(); }

  // Events to wait for from now on; 0 pauses.
  void want(std::uint32_t events);
  void reset();
  explicit operator bool() const { return entry_ != nullptr; }

 private:
  friend class Loop;
  FdWatcher(Loop* loop, std::shared_ptr<Entry> entry) : loop_(loop), entry_(std::move(entry)) {}
  Loop* loop_ = nullptr;
  std::shared_ptr<Entry> entry_;
};

class Loop::Timer {
 public:
  Timer() = default;
  Timer(Timer&& other) noexcept : callback_(std::move(other.callback_)) {}
  Timer& operator=(Timer&& other) noexcept {
    reset();
    callback_ = std::move(other.callback_);
    return *this;
  }
  ~Timer() { reset(); }

  void reset() {
    if (callback_) *callback_ = nullptr;
    callback_.reset();
  }

 private:
  friend class Loop;
  explicit Timer(std::shared_ptr<std::function<void()>> callback) : callback_(std::move(callback)) {}
  std::shared_ptr<std::function<void()>> callback_;
};

}  // namespace cloche::agent
