#include "egress/books/books.hpp"

#include <algorithm>

namespace cloche::egress {

Books::Books(const Executor& executor, std::size_t kept, std::shared_ptr<Totals> all, Watcher watcher)
    : kept_(std::max<std::size_t>(kept, 1)), all_(std::move(all)), watcher_(std::move(watcher)), changed_(executor) {}

void Books::for_totals(const std::function<void(Totals&)>& change) {
  change(totals_);
  if (all_) change(*all_);
}

void Books::add(EgressEvent event) {
  event.number = ++last_number_;
  event.time = std::chrono::system_clock::now();
  for_totals([&](Totals& totals) {
    if (event.outcome == Outcome::allowed) ++(event.protocol == Protocol::http ? totals.requests : totals.connections);
    if (event.outcome == Outcome::denied) ++totals.denied;
    if (event.outcome == Outcome::failed) ++totals.failed;
    if (event.outcome == Outcome::over_quota) ++totals.over_quota;
  });
  events_.push_back(std::move(event));
  if (events_.size() > kept_) events_.pop_front();
  changed_.notify();
  if (watcher_) watcher_(events_.back());
}

void Books::count_bytes(std::uint64_t up, std::uint64_t down) {
  for_totals([&](Totals& totals) {
    totals.bytes_up += up;
    totals.bytes_down += down;
  });
}

void Books::connection_opened() {
  for_totals([](Totals& totals) { ++totals.open; });
}

void Books::connection_closed() {
  for_totals([](Totals& totals) { --totals.open; });
}

std::vector<EgressEvent> Books::after(std::uint64_t number) const {
  const std::uint64_t wanted = last_number_ - std::min(number, last_number_);
  const auto count = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(wanted, events_.size()));
  return {events_.end() - count, events_.end()};
}

Task<> Books::wait_after(std::uint64_t number, Deadline deadline) {
  while (last_number_ <= number && !closed_ && !deadline.passed()) co_await changed_.wait(deadline);
}

void Books::close() {
  closed_ = true;
  changed_.notify();
}

}  // namespace cloche::egress
