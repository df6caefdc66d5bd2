// Dialect: how one kind of interpreter is started, interrupted and cleaned up after. CallRunner does the rest.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "context/interpreter.hpp"
#include "core/async/task.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche {

class Dialect {
 public:
  virtual ~Dialect() = default;

  // Programs to try, in this order, if the previous one does not exist.
  virtual std::vector<ExecSpec> programs() const = 0;

  // Asks the call under way to end. `attempt` counts from 0; false: there is nothing more to try.
  virtual Task<bool> interrupt(LiveSandbox& sandbox, Interpreter& interpreter, int attempt) = 0;
  // How long the call may continue after each attempt.
  virtual std::chrono::milliseconds grace() const = 0;

  // After an interrupted call has ended: ends what is left of it. False: that could not be done.
  virtual Task<bool> sweep(LiveSandbox& sandbox, Interpreter& interpreter) = 0;
  // A request that does nothing, after whose end all output of what was swept away has come; empty: none is needed.
  virtual std::string nothing_request(const std::string& id) const = 0;
};

// A specification of an exec whose output and events are bounded by the server, call by call, and not as a whole.
ExecSpec long_lived_exec();

}  // namespace cloche
