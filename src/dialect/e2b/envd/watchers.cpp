#include "dialect/e2b/envd/watchers.hpp"

#include "core/async/first_of.hpp"
#include "core/ids.hpp"

namespace cloche::dialect::e2b {

using connect::Code;
using connect::Reply;

struct Watchers::Watcher {
  explicit Watcher(const Executor& executor) : removed(executor) {}

  std::unique_ptr<Watching> watching;
  session::Admission admission;
  std::deque<json::object> events;
  std::optional<connect::Failure> failed;  // nothing more comes
  bool has_lost_events = false;
  Deadline::Clock::time_point last_used = Deadline::Clock::now();
  Event removed;
};

Watchers::Watchers(session::Session& session) : session_(session), tasks_(session.executor()) {}

Reply<std::string> Watchers::add(std::unique_ptr<Watching> watching, session::Admission admission) {
  if (watchers_.size() >= options_.most) {
    return connect::failure(Code::resource_exhausted, "watcher limit reached (" + std::to_string(options_.most) +
                                                          "); remove one, or wait until one expires");
  }
  auto watcher = std::make_shared<Watcher>(session_.executor());
  watcher->watching = std::move(watching);
  watcher->admission = std::move(admission);
  std::string id = "w" + random_hex(8);
  watchers_.emplace(id, watcher);
  tasks_.spawn("watch a directory", [this, id, watcher] { return watch(id, watcher); });
  return id;
}

Task<> Watchers::watch(std::string id, std::shared_ptr<Watcher> watcher) {
  for (;;) {
    const Deadline unused = Deadline::at(watcher->last_used + options_.unused_for);
    if (unused.passed()) break;
    if (watcher->failed) {
      co_await watcher->removed.wait(unused);
      if (!watchers_.contains(id)) co_return;
      continue;
    }
    auto ended = co_await first_of(watcher->watching->next(unused), watcher->removed.wait());
    if (!watchers_.contains(id)) co_return;
    auto* events = std::get_if<0>(&ended);
    if (events == nullptr || (!*events && events->error().code == ErrorCode::timeout)) continue;
    if (!*events) {
      watcher->failed = failure_of_watch(std::move(*events).error());
      continue;
    }
    for (json::object& event : **events) {
      if (watcher->events.size() < options_.most_events) {
        watcher->events.push_back(std::move(event));
      } else {
        watcher->has_lost_events = true;
      }
    }
  }
  watchers_.erase(id);
}

Reply<std::shared_ptr<Watchers::Watcher>> Watchers::find(const std::string& id) const {
  const auto found = watchers_.find(id);
  if (found == watchers_.end()) return connect::failure(Code::not_found, "watcher with id " + id + " not found");
  found->second->last_used = Deadline::Clock::now();
  return found->second;
}

Reply<std::vector<json::object>> Watchers::take(const std::string& id) {
  CLOCHE_TRY(const auto watcher, find(id));
  std::vector<json::object> events(std::move_iterator(watcher->events.begin()),
                                   std::move_iterator(watcher->events.end()));
  watcher->events.clear();
  if (std::exchange(watcher->has_lost_events, false))
    return connect::failure(Code::internal, "watcher error: events were lost, there are too many");
  if (events.empty() && watcher->failed) return std::unexpected(*watcher->failed);
  return events;
}

Reply<> Watchers::remove(const std::string& id) {
  CLOCHE_TRY(const auto watcher, find(id));
  watchers_.erase(id);
  watcher->removed.notify();
  return {};
}

Task<> Watchers::close() {
  co_await tasks_.shut_down();
  watchers_.clear();
}

}  // namespace cloche::dialect::e2b
