// SudoGate: where `sudo` finds the agent, in a sandbox with root.
#pragma once

#include <sys/types.h>

#include <memory>

#include "agent/link/loop.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

class SudoGate {
 public:
  explicit SudoGate(Loop& loop) : loop_(loop) {}

  // Listens from now on. Further calls have no effect.
  void open();

 private:
  // A connection of `sudo` that waits until its program is known.
  struct Caller {
    UniqueFd connection;
    pid_t pid = -1;
    int looks = 0;
    Loop::Timer again;
  };

  void on_connection();
  void place(const std::shared_ptr<Caller>& caller);

  Loop& loop_;
  UniqueFd listener_;
  Loop::FdWatcher watch_;
};

}  // namespace cloche::agent
