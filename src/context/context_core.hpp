// ContextCore: one call after the other in an interpreter that lives on, whatever its language.
//
// Calls are served in the order in which they came by a task of the core's own, so that a caller who goes away in the
// middle of a call leaves nobody confused: the call is interrupted, and the next one starts when it has ended or its
// interpreter was replaced.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "context/call_result.hpp"
#include "context/dialect.hpp"

namespace cloche {

// What becomes of a call when the interpreter was lost before it.
enum class AfterLoss {
  refuse,      // its result says `lost`, until restart()
  start_anew,  // it gets a new interpreter, and its result says `fresh`
};

struct CoreOptions {
  AfterLoss after_loss = AfterLoss::refuse;
  std::size_t most_waiting = 16;  // calls that wait for their turn
  std::chrono::milliseconds start_limit = std::chrono::seconds(30);
};

struct CoreCall {
  // What the driver reads, for the id that its answer must bear.
  std::function<std::string(const std::string& id, const Interpreter& interpreter)> request;
  std::chrono::milliseconds wall_limit{};
  ContextCaps caps;
  ContextListener listener;
};

struct CoreResult : CallResult {
  std::string report;            // the driver's, at the call's end
  std::optional<int> exit_code;  // of the interpreter, where the call ended it
};

class ContextCore {
 public:
  // The sandbox must live as long as the core.
  ContextCore(Executor executor, LiveSandbox& sandbox, std::unique_ptr<Dialect> dialect, CoreOptions options);
  ContextCore(const ContextCore&) = delete;
  ContextCore& operator=(const ContextCore&) = delete;
  ~ContextCore();

  // Waits for its turn, then runs the call. When the deadline passes, or the caller is cancelled, a call that waits is
  // taken back and one that runs is interrupted.
  Task<Result<CoreResult>> call(CoreCall call, Deadline deadline);
  // In its turn: ends the interpreter, if there is one, and starts a new one.
  Task<Status> restart(Deadline deadline);
  // Ends the interpreter and all calls; waits until that is done.
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
