// Watchers: directories that clients watch by asking again and again (CreateWatcher). Each has a bounded queue of
// events, and is dropped when its client has not asked for a while.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "core/async/event.hpp"
#include "core/async/task_group.hpp"
#include "dialect/e2b/envd/watching.hpp"

namespace cloche::dialect::e2b {

struct WatchersOptions {
  std::size_t most = 32;                                           // in one session
  std::size_t most_events = 4096;                                  // waiting, of one watcher
  Deadline::Clock::duration unused_for = std::chrono::minutes(5);  // then it is dropped
};

class Watchers final : public session::SessionPart {
 public:
  explicit Watchers(session::Session& session);
  // For tests; before the first watcher.
  void set_options(WatchersOptions options) { options_ = options; }

  // The id of a new one. resource_exhausted if there are too many. The admission is its own for as long as it lives.
  connect::Reply<std::string> add(std::unique_ptr<Watching> watching, session::Admission admission);
  // All events since the last time. Where some were lost that is an error, once.
  connect::Reply<std::vector<json::object>> take(const std::string& id);
  connect::Reply<> remove(const std::string& id);
  std::size_t size() const { return watchers_.size(); }

  Task<> close() override;
  bool busy() const override { return false; }

 private:
  struct Watcher;
  Task<> watch(std::string id, std::shared_ptr<Watcher> watcher);
  connect::Reply<std::shared_ptr<Watcher>> find(const std::string& id) const;

  session::Session& session_;
  WatchersOptions options_;
  std::map<std::string, std::shared_ptr<Watcher>> watchers_;
  TaskGroup tasks_;
};

}  // namespace cloche::dialect::e2b
