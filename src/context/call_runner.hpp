// CallRunner: keeps a context's interpreter: starts it, runs one call at a time in it, and ends it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "context/call_output.hpp"
#include "context/call_result.hpp"
#include "context/dialect.hpp"
#include "core/async/task_group.hpp"

namespace cloche {

struct CoreCall {
  // The driver's input, for the id that its response must have.
  std::function<std::string(const std::string& id, const Interpreter& interpreter)> request;
  std::chrono::milliseconds wall_limit{};
  ContextCaps caps;
  OutputSink sink;         // empty: output is in the result
  DisplaySink display;     // empty: what it shows is dropped
  bool abandoned = false;  // its caller is gone: it is interrupted
};

struct CoreResult : CallResult {
  std::string report;  // the driver's, at the call's end
};

class CallRunner {
 public:
  CallRunner(Executor executor, LiveSandbox& sandbox, std::unique_ptr<Dialect> dialect, AfterLoss after_loss);

  // Runs a call to its end, by force if need be. An Error means that Cloche could not do its work.
  Task<Result<CoreResult>> perform(CoreCall& call);
  // Ends the interpreter, if there is one, and starts a new one.
  Task<Status> restart();
  // Ends the interpreter and waits until it is gone.
  Task<> shut_down();
  // The same without waiting.
  void cancel() { pumps_.cancel(); }

  // Something about the call under way has changed.
  void wake() { wake_->notify(); }
  bool alive() const { return interpreter_ && interpreter_->runs(); }

 private:
  struct Conversation;

  Task<Status> launch();
  Task<Status> launch(ExecSpec program, Deadline deadline);
  Task<> converse(CoreCall& call, CoreResult& result);
  Task<> listen(const CoreCall& call, Conversation& conversation);
  Task<bool> settle(CallOutput& output);
  Task<> force_end(CoreResult& result, CallOutput& output);
  void note_loss(CoreResult& result);

  Executor executor_;
  LiveSandbox& sandbox_;
  std::unique_ptr<Dialect> dialect_;
  AfterLoss after_loss_;
  std::shared_ptr<Interpreter> interpreter_;
  std::string lost_;  // why the last interpreter is gone; empty before the first one
  std::shared_ptr<Event> wake_;
  TaskGroup pumps_;
};

}  // namespace cloche
