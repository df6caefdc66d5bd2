// Keeper: prolongs the life of a sandbox for as long as it is held. A sandbox whose server is gone ends by itself.
#pragma once

#include "backend/e2b/remote.hpp"
#include "core/async/task_group.hpp"

namespace cloche::e2b {

class Keeper {
 public:
  struct Times {
    std::chrono::milliseconds interval = std::chrono::seconds(45);
    std::chrono::milliseconds retry = std::chrono::seconds(5);
    std::chrono::milliseconds attempt = std::chrono::seconds(20);
  };

  // Starts at once. Ends with the object, with stop(), or when the service does not know the sandbox any more.
  explicit Keeper(const Remote& remote) : Keeper(remote, Times()) {}
  Keeper(const Remote& remote, Times times);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  void stop() { tasks_.cancel(); }

 private:
  TaskGroup tasks_;
};

}  // namespace cloche::e2b
