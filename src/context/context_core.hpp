// ContextCore: one call after the other in an interpreter that lives on, whatever its language.
//
// Calls are served in order by a task of the core. So a caller that is cancelled in the middle of a call leaves a
// defined state: the call is interrupted, and the next one starts when it has ended or its interpreter was replaced.
#pragma once

#include <memory>

#include "context/call_runner.hpp"

namespace cloche {

class ContextCore {
 public:
  // The sandbox must live as long as the core.
  ContextCore(Executor executor, LiveSandbox& sandbox, std::unique_ptr<Dialect> dialect, AfterLoss after_loss);
  ContextCore(const ContextCore&) = delete;
  ContextCore& operator=(const ContextCore&) = delete;
  ~ContextCore();

  // Waits for its turn, then runs the call. When the deadline passes, or the caller is cancelled, a call that waits is
  // taken back and one that runs is interrupted. Too many that wait are a limit_reached error.
  Task<Result<CoreResult>> call(CoreCall call, Deadline deadline);
  // In its turn: ends the interpreter, if there is one, and starts a new one.
  Task<Status> restart(Deadline deadline);
  // Ends all calls and the interpreter; waits until that is done.
  Task<> close();

  bool alive() const;

 private:
  struct Job;
  struct State;
  class Abandonment;
  Task<Result<CoreResult>> submit(std::shared_ptr<Job> job, Deadline deadline);

  std::shared_ptr<State> state_;
};

}  // namespace cloche
