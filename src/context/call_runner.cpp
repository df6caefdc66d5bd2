#include "context/call_runner.hpp"

#include "core/ids.hpp"

namespace cloche {

namespace {

constexpr std::chrono::seconds start_timeout{30};
// A killed interpreter's tree is gone in well under this, or the sandbox itself has a problem.
constexpr std::chrono::seconds kill_timeout{15};
// A call that does nothing takes as long as the sandbox is slow.
constexpr std::chrono::seconds nothing_timeout{5};
// How long after its limit the driver may take to read a request. It reads at once unless the sandbox is at its limits.
constexpr std::chrono::seconds request_timeout{10};
// A shell's successor starts in a few milliseconds, where the sandbox is not at its limits.
constexpr std::chrono::seconds leaving_timeout{10};
constexpr std::size_t error_excerpt = 2000;

std::string describe(const Outcome& outcome) {
  switch (outcome.ending) {
    case Ending::memory_limit: return "the sandbox reached its memory limit";
    case Ending::signalled: return "the interpreter was terminated by signal " + std::to_string(outcome.signal);
    case Ending::exited: return "the interpreter exited with code " + std::to_string(outcome.exit_code);
    case Ending::not_started: return "the interpreter could not be started: " + outcome.reason;
    default: return "the interpreter was stopped";
  }
}

std::string how_it_ended(const Interpreter& interpreter) {
  if (!interpreter.breach().empty()) return interpreter.breach();
  const auto& ended = interpreter.ended();
  if (!ended) return "the interpreter did not end in time";
  return *ended ? describe(**ended) : ended->error().message;
}

// An interpreter that did not start: what is wrong is a program that is not there, the directory that the caller named,
// or the sandbox.
ErrorCode code_of_start(const Outcome& outcome) {
  constexpr std::string_view enter = "enter the work directory";
  if (outcome.ending != Ending::not_started) return ErrorCode::unavailable;
  if (outcome.reason.starts_with(enter)) return ErrorCode::invalid_argument;
  return outcome.exit_code == 127 ? ErrorCode::not_found : ErrorCode::unavailable;
}

std::string why_cut(ContextEnding cut, const CoreCall& call) {
  if (cut == ContextEnding::output_limit) {
    return "it printed more than " + std::to_string(call.caps.stop_output.count) + " bytes";
  }
  return "it ran longer than " + std::to_string(call.wall_limit.count()) + " ms";
}

}  // namespace

ExecSpec long_lived_exec() {
  ExecSpec spec;
  spec.stdin_mode = Stdin::stream;
  spec.wall_limit.reset();
  // No cap on the whole of it: what a call may print is the call's.
  spec.keep_output = spec.stop_output = Bytes{0};
  spec.events = EventPipe{.keep = Bytes{0}, .stop = Bytes{0}};
  return spec;
}

CallRunner::CallRunner(Executor executor, LiveSandbox& sandbox, std::unique_ptr<Dialect> dialect, AfterLoss after_loss)
    : executor_(executor),
      sandbox_(sandbox),
      dialect_(std::move(dialect)),
      after_loss_(after_loss),
      wake_(std::make_shared<Event>(executor)),
      pumps_(executor) {}

Task<Status> CallRunner::restart() {
  CoreResult nothing;
  CallOutput nobody(ContextCaps{}, nullptr);
  if (interpreter_) co_await force_end(nothing, nobody);
  auto launched = co_await launch();
  co_return launched;
}

Task<> CallRunner::shut_down() {
  CoreResult nothing;
  CallOutput nobody(ContextCaps{}, nullptr);
  if (interpreter_) co_await force_end(nothing, nobody);
  co_await pumps_.shut_down();
}

Task<Status> CallRunner::launch() {
  const Deadline deadline = Deadline::after(start_timeout);
  Error error{ErrorCode::internal, "missing interpreter"};
  auto programs = dialect_->programs();
  for (ExecSpec& program : programs) {
    auto launched = co_await launch(std::move(program), deadline);
    if (launched) co_return launched;
    error = std::move(launched).error();
    // The next one may be another program, or the same in another directory.
    if (error.code != ErrorCode::not_found && error.code != ErrorCode::invalid_argument) break;
  }
  co_return fail(std::move(error).at("start the context"));
}

Task<Status> CallRunner::launch(ExecSpec program, Deadline deadline) {
  auto started = co_await sandbox_.start(std::move(program), deadline);
  if (!started) co_return fail(std::move(started).error());
  const auto fresh = std::make_shared<Interpreter>(executor_, std::move(*started), wake_);
  pumps_.spawn("context: pump", [fresh] { return Interpreter::pump(fresh); });
  // One that does not become the context's own is ended, and its pump with it.
  struct StopUnlessReady {
    Interpreter& interpreter;
    ~StopUnlessReady() {
      if (interpreter.pid == 0) interpreter.exec().stop();
    }
  };
  const StopUnlessReady stop{*fresh};
  std::string err;
  for (;;) {
    while (auto item = fresh->take()) {
      if (const auto* event = std::get_if<DriverEvent>(&*item)) {
        if (const auto* ready = std::get_if<DriverReady>(event)) fresh->pid = ready->pid;
      } else if (const auto& output = std::get<Output>(*item); err.size() < error_excerpt) {
        err += output.bytes.substr(0, error_excerpt);
      }
    }
    if (fresh->pid != 0) break;
    if (fresh->ended()) {
      if (!*fresh->ended()) co_return fail(fresh->ended()->error());
      const Outcome& outcome = **fresh->ended();
      co_return fail(code_of_start(outcome), how_it_ended(*fresh) + (err.empty() ? "" : ": " + err));
    }
    if (deadline.passed()) co_return fail(ErrorCode::timeout, "the interpreter was not ready in time");
    co_await wake_->wait(deadline);
  }
  interpreter_ = fresh;
  co_return Status{};
}

void CallRunner::note_loss(CoreResult& result) {
  lost_ = how_it_ended(*interpreter_);
  const auto& ended = interpreter_->ended();
  const bool told = ended && *ended;
  const bool memory = told && (*ended)->ending == Ending::memory_limit;
  result.ending = memory ? ContextEnding::memory : ContextEnding::lost;
  result.state = ContextState::lost;
  result.reason = lost_;
  if (told) result.interpreter = **ended;
  interpreter_.reset();
}

Task<Result<CoreResult>> CallRunner::perform(CoreCall& call) {
  CoreResult result;
  Bytes late;
  while (auto item = interpreter_ ? interpreter_->take() : std::nullopt) {
    if (const auto* output = std::get_if<Output>(&*item)) late.count += output->bytes.size();
  }
  if (interpreter_ && interpreter_->ended()) note_loss(result);
  if (!interpreter_) {
    if (!lost_.empty() && after_loss_ == AfterLoss::refuse) {
      result.ending = ContextEnding::lost;
      result.state = ContextState::lost;
      result.reason = "the context was lost: " + lost_;
      result.interpreter.reset();
      co_return result;
    }
    const bool anew = !lost_.empty();
    auto launched = co_await launch();
    if (!launched) co_return fail(std::move(launched).error());
    result = CoreResult{};
    result.fresh = anew;
  }
  result.late = late;
  co_await converse(call, result);
  // The sandbox itself is gone: that is for the caller's caller.
  if (auto gone = sandbox_.lost(); gone && result.ending == ContextEnding::lost) co_return fail(std::move(*gone));
  co_return result;
}

struct CallRunner::Conversation {
  std::string id;
  CallOutput output;
  Deadline next;                     // when to do something about it
  std::optional<ContextEnding> cut;  // why the call is being ended
  std::optional<DriverEnd> end;
  DisplaySink display;
  std::uint64_t display_room = 0;  // bytes that may still be shown

  void show(DriverDisplay shown) {
    if (!display || shown.rest.size() > display_room) return;
    display_room -= shown.rest.size();
    display(std::move(shown.rest));
  }

  // Takes what there is, up to the call's end or its limit on output.
  void take(Interpreter& interpreter) {
    while (auto item = end || output.over_limit() ? std::nullopt : interpreter.take()) take(interpreter, *item);
    // Output over the limit is dropped piece by piece: the end comes after it.
    if (auto item = end ? std::nullopt : interpreter.take()) take(interpreter, *item);
  }

  void take(Interpreter& interpreter, Interpreter::Item& item) {
    if (auto* piece = std::get_if<Output>(&item)) return output.take(std::move(*piece));
    auto& event = std::get<DriverEvent>(item);
    if (auto* begin = std::get_if<DriverBegin>(&event); begin != nullptr && begin->id == id) {
      interpreter.begin = std::move(begin->rest);
    } else if (auto* shown = std::get_if<DriverDisplay>(&event); shown != nullptr && shown->id == id) {
      show(std::move(*shown));
    } else if (const auto* leaving = std::get_if<DriverLeaving>(&event); leaving != nullptr && leaving->id == id) {
      interpreter.leaving = true;
      next = Deadline::after(leaving_timeout);
    } else if (auto* over = std::get_if<DriverEnd>(&event); over != nullptr && over->id == id) {
      end = std::move(*over);
    }
  }
};

Task<> CallRunner::converse(CoreCall& call, CoreResult& result) {
  const auto begun = std::chrono::steady_clock::now();
  OutputSink sink;
  if (call.sink) {
    sink = [&call](Output piece) {
      if (!call.abandoned) call.sink(std::move(piece));
    };
  }
  Conversation conversation{.id = random_hex(8),
                            .output = CallOutput(call.caps, std::move(sink)),
                            .next = Deadline::at(begun + call.wall_limit),
                            .cut = std::nullopt,
                            .end = std::nullopt,
                            .display = {},
                            .display_room = call.caps.keep_displays.count};
  if (call.display) {
    conversation.display = [&call](std::string shown) {
      if (!call.abandoned) call.display(std::move(shown));
    };
  }
  interpreter_->begin.clear();
  interpreter_->leaving = false;
  std::string request = call.request(conversation.id, *interpreter_);
  const Deadline taken_by = Deadline::after(call.wall_limit + request_timeout);
  auto sent = co_await interpreter_->exec().write_stdin(std::move(request), taken_by);
  // After half a request nothing sensible can follow.
  if (sent) co_await listen(call, conversation);
  result.wall = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun);

  if (conversation.end) {
    result.report = std::move(conversation.end->rest);
    if (conversation.end->by == DriverEnd::By::successor) result.state = ContextState::handed_over;
    if (conversation.cut) {
      const bool clean = co_await settle(conversation.output);
      if (!clean) co_await force_end(result, conversation.output);
    }
  } else if (!interpreter_->ended()) {
    co_await force_end(result, conversation.output);
  } else {
    note_loss(result);
  }
  if (conversation.cut) {
    result.ending = *conversation.cut;
    result.reason = why_cut(*conversation.cut, call);
    if (result.state == ContextState::lost) result.reason += ", and the context was lost: " + lost_;
  }
  conversation.output.move_into(result);
}

// Until the call or the interpreter has ended, or there is nothing left to try.
Task<> CallRunner::listen(const CoreCall& call, Conversation& conversation) {
  int attempts = 0;
  for (;;) {
    conversation.take(*interpreter_);
    if (conversation.end || interpreter_->ended()) co_return;
    const bool over_limit = conversation.output.over_limit();
    const bool unwanted = (over_limit || call.abandoned) && !interpreter_->leaving && !conversation.cut;
    if (!unwanted && !conversation.next.passed()) {
      if (!interpreter_->has_more()) co_await wake_->wait(conversation.next);
      continue;
    }
    if (!conversation.cut) conversation.cut = over_limit ? ContextEnding::output_limit : ContextEnding::timeout;
    const bool asked = co_await dialect_->interrupt(sandbox_, *interpreter_, attempts++);
    if (!asked) co_return;
    conversation.next = Deadline::after(dialect_->grace());
  }
}

// After an interrupted call's end: ends what is left of it, and takes all that this had printed.
Task<bool> CallRunner::settle(CallOutput& output) {
  const bool swept = co_await dialect_->sweep(sandbox_, *interpreter_);
  if (!swept) co_return false;
  const std::string id = random_hex(8);
  std::string request = dialect_->nothing_request(id);
  if (request.empty()) co_return true;
  const Deadline deadline = Deadline::after(nothing_timeout);
  auto sent = co_await interpreter_->exec().write_stdin(std::move(request), deadline);
  if (!sent) co_return false;
  while (!interpreter_->ended() && !deadline.passed()) {
    while (auto item = interpreter_->take()) {
      if (auto* piece = std::get_if<Output>(&*item)) {
        output.take(std::move(*piece));
      } else if (const auto* over = std::get_if<DriverEnd>(&std::get<DriverEvent>(*item))) {
        if (over->id == id) co_return true;
      }
    }
    if (!interpreter_->ended()) co_await wake_->wait(deadline);
  }
  co_return false;
}

Task<> CallRunner::force_end(CoreResult& result, CallOutput& output) {
  interpreter_->exec().stop();
  const Deadline deadline = Deadline::after(kill_timeout);
  while (!interpreter_->ended() && !deadline.passed()) {
    while (auto item = interpreter_->take()) {
      if (auto* piece = std::get_if<Output>(&*item)) output.take(std::move(*piece));
    }
    if (!interpreter_->ended()) co_await wake_->wait(deadline);
  }
  note_loss(result);
}

}  // namespace cloche
