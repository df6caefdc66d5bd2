#include "agent/link/loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace cloche::agent {

namespace {

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::abort();
}

}  // namespace

Loop::Loop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) die("epoll_create1");
}

Loop::FdWatcher Loop::watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> on_ready) {
  FdWatcher watch(this, std::make_shared<Entry>(Entry{fd, 0, std::move(on_ready)}));
  watch.want(events);
  return watch;
}

Loop::FdWatcher& Loop::FdWatcher::operator=(FdWatcher&& other) noexcept {
  if (this != &other) {
    reset();
    loop_ = std::exchange(other.loop_, nullptr);
    entry_ = std::move(other.entry_);
  }
  return *this;
}

void Loop::FdWatcher::want(std::uint32_t events) {
  if (!entry_ || entry_->events == events) return;
  // EPOLLHUP and EPOLLERR come unasked, again and again: a paused descriptor is not in epoll at all.
  const int operation = entry_->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
  entry_->events = events;
  epoll_event event{};
  event.data.ptr = entry_.get();
  event.events = events;
  if (::epoll_ctl(loop_->epoll_.get(), operation, entry_->fd, &event) != 0) die("epoll_ctl");
}

void Loop::FdWatcher::reset() {
  if (!entry_) return;
  if (std::exchange(entry_->events, 0) != 0) ::epoll_ctl(loop_->epoll_.get(), EPOLL_CTL_DEL, entry_->fd, nullptr);
  loop_->removed_.push_back(std::move(entry_));
}

Loop::Timer Loop::after(Clock::duration span, std::function<void()> on_time) {
  auto callback = std::make_shared<std::function<void()>>(std::move(on_time));
  timers_.emplace(Clock::now() + span, callback);
  return Timer(std::move(callback));
}

void Loop::later(std::function<void()> work) { later_.push_back(std::move(work)); }

int Loop::next_timeout() const {
  if (!later_.empty()) return 0;
  if (timers_.empty()) return -1;
  const auto left = timers_.begin()->first - Clock::now();
  if (left <= Clock::duration::zero()) return 0;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::min<long long>(ms, 3'600'000));
}

void Loop::dispatch_timers() {
  while (!timers_.empty() && timers_.begin()->first <= Clock::now()) {
    const auto callback = timers_.begin()->second;
    timers_.erase(timers_.begin());
    const auto call = std::move(*callback);
    *callback = nullptr;
    if (call) call();
  }
}

void Loop::run() {
  std::array<epoll_event, 32> events;
  while (!stopped_) {
    const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), next_timeout());
    if (n < 0 && errno != EINTR) die("epoll_wait");
    for (int i = 0; i < n; ++i) {
      auto* entry = static_cast<Entry*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (entry->events == 0) continue;  // removed or paused by an earlier callback of this round
      entry->on_ready(events[static_cast<std::size_t>(i)].events);
    }
    dispatch_timers();
    for (auto work = std::exchange(later_, {}); auto& call : work) call();
    removed_.clear();
  }
}

}  // namespace cloche::agent
