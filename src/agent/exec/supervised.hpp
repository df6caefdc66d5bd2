// Supervised: the agent's handle on one running program, whatever started it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>

#include "agent/exec/elevated.hpp"
#include "agent/exec/launch.hpp"
#include "agent/exec/supervisor.hpp"
#include "agent/link/loop.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "wire/exec_messages.hpp"

namespace cloche::agent {

struct SupervisedEvents {
  std::function<void(pid_t)> started;
  std::function<void(Result<wire::ExecEnded>)>
      ended;  // once, and nothing after it; an error when its supervisor is lost
};

// Destroying it ends the program's tree.
class Supervised {
 public:
  // Forks a supervisor that starts the program. The descriptors are the program's ends.
  static Result<std::unique_ptr<Supervised>> fork(Loop& loop, const wire::ExecRequest& request, const ProgramFds& fds,
                                                  SupervisedEvents events);
  // A supervisor that was started elsewhere and holds the other end of `control`.
  Supervised(Loop& loop, UniqueFd control, SupervisedEvents events);

  void stop(wire::StopReason reason);
  void signal(int number, wire::SignalTarget target);
  // Hands a connection of `sudo` over; the command becomes part of the program's tree.
  void elevate(UniqueFd connection, const ElevationOrder& order);

  // A connected pair: ours, and the supervisor's (close-on-exec both).
  static Result<std::pair<UniqueFd, UniqueFd>> make_control();

 private:
  void command(const SupervisorCommand& command);
  void on_readable();

  UniqueFd control_;
  SupervisedEvents events_;
  Loop::FdWatcher watch_;
};

}  // namespace cloche::agent
