#include "context/context_core.hpp"

#include <deque>

#include "context/call_output.hpp"
#include "core/ids.hpp"
#include "core/task_group.hpp"

namespace cloche {

namespace {

// A killed interpreter's tree is gone in well under this, or the sandbox itself has a problem.
constexpr std::chrono::seconds kill_patience{15};
// A call that does nothing takes as long as the sandbox is slow.
constexpr std::chrono::seconds nothing_patience{5};
// How long after its limit the driver may take to read a request. It reads at once unless the sandbox is at its limits.
constexpr std::chrono::seconds request_patience{10};
constexpr std::size_t error_excerpt = 2000;

std::string describe(const Outcome& outcome) {
  switch (outcome.ending) {
    case Ending::memory_limit: return "the sandbox's memory was used up";
    case Ending::signalled: return "the interpreter was ended by signal " + std::to_string(outcome.signal);
    case Ending::exited: return "the interpreter exited with code " + std::to_string(outcome.exit_code);
    case Ending::not_started: return "the interpreter could not be started: " + outcome.reason;
    default: return "the interpreter was ended: " + std::string(to_string(outcome.ending));
  }
}

std::string how_it_ended(const Interpreter& interpreter) {
  if (!interpreter.breach().empty()) return interpreter.breach();
  const auto& ended = interpreter.ended();
  if (!ended) return "the interpreter did not end in time";
  return *ended ? describe(**ended) : ended->error().message;
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

struct ContextCore::Job {
  enum class Kind { call, restart };
  Job(Executor executor, Kind job_kind) : kind(job_kind), changed(std::move(executor)) {}

  void finish(Result<CoreResult> with) {
    if (done) return;
    result = std::move(with);
    done = true;
    changed.notify();
  }

  Kind kind;
  CoreCall call;
  bool abandoned = false;
  bool done = false;
  Result<CoreResult> result;
  Event changed;
};

struct ContextCore::State : std::enable_shared_from_this<ContextCore::State> {
  State(Executor e, LiveSandbox& box, std::unique_ptr<Dialect> how, CoreOptions with)
      : executor(e), sandbox(box), dialect(std::move(how)), options(with), wake(std::make_shared<Event>(e)), tasks(e) {}

  void begin_serving();
  Task<> serve();
  Task<Result<CoreResult>> perform(Job& job);
  Task<Status> launch();
  Task<Status> launch(ExecSpec program, Deadline deadline);
  Task<> converse(Job& job, CoreResult& result);
  Task<> force_end(CoreResult& result, CallOutput& output);
  Task<bool> settle(CallOutput& output);
  void note_loss(CoreResult& result);
  void end_all(const Error& why);

  Executor executor;
  LiveSandbox& sandbox;
  std::unique_ptr<Dialect> dialect;
  CoreOptions options;
  std::deque<std::shared_ptr<Job>> queue;
  std::shared_ptr<Job> current;
  bool serving = false;
  bool closed = false;
  std::shared_ptr<Interpreter> interpreter;
  std::string lost;  // why the last interpreter is gone; empty before the first one
  std::shared_ptr<Event> wake;
  TaskGroup tasks;
};

// A caller that does not wait for its call's end any more.
class ContextCore::Abandonment {
 public:
  Abandonment(std::shared_ptr<State> state, std::shared_ptr<Job> job)
      : state_(std::move(state)), job_(std::move(job)) {}
  Abandonment(const Abandonment&) = delete;
  Abandonment& operator=(const Abandonment&) = delete;
  ~Abandonment() {
    if (job_->done) return;
    job_->abandoned = true;
    std::erase(state_->queue, job_);
    state_->wake->notify();
  }

 private:
  std::shared_ptr<State> state_;
  std::shared_ptr<Job> job_;
};

ContextCore::ContextCore(Executor executor, LiveSandbox& sandbox, std::unique_ptr<Dialect> dialect, CoreOptions options)
    : state_(std::make_shared<State>(std::move(executor), sandbox, std::move(dialect), options)) {}

ContextCore::~ContextCore() {
  state_->closed = true;
  state_->end_all({ErrorCode::cancelled, "the context was closed"});
  state_->tasks.cancel();
}

bool ContextCore::alive() const { return state_->interpreter && state_->interpreter->runs(); }

Task<Result<CoreResult>> ContextCore::call(CoreCall call, Deadline deadline) {
  auto job = std::make_shared<Job>(state_->executor, Job::Kind::call);
  job->call = std::move(call);
  auto result = co_await submit(job, deadline);
  co_return result;
}

Task<Status> ContextCore::restart(Deadline deadline) {
  auto job = std::make_shared<Job>(state_->executor, Job::Kind::restart);
  auto result = co_await submit(job, deadline);
  if (!result) co_return fail(std::move(result).error());
  co_return Status{};
}

Task<Result<CoreResult>> ContextCore::submit(std::shared_ptr<Job> job, Deadline deadline) {
  const auto state = state_;
  if (state->closed) co_return fail(ErrorCode::cancelled, "the context was closed");
  if (state->queue.size() >= state->options.most_waiting) {
    co_return fail(ErrorCode::limit_reached, "too many calls wait for this context");
  }
  const Abandonment abandonment(state, job);
  state->queue.push_back(job);
  state->begin_serving();
  while (!job->done) {
    if (deadline.passed()) {
      const bool waits = state->current != job;
      co_return fail(ErrorCode::timeout, waits ? "the context was busy with other calls for too long"
                                               : "the call did not end in time, and was interrupted");
    }
    co_await job->changed.wait(deadline);
  }
  co_return std::move(job->result);
}

Task<> ContextCore::close() {
  const auto state = state_;
  state->closed = true;
  state->end_all({ErrorCode::cancelled, "the context was closed"});
  co_await state->tasks.shut_down();
  state->interpreter.reset();
}

void ContextCore::State::end_all(const Error& why) {
  for (const auto& job : std::exchange(queue, {})) job->finish(fail(why));
  if (current) current->finish(fail(why));
}

void ContextCore::State::begin_serving() {
  if (std::exchange(serving, true)) return;
  tasks.spawn("context: serve", [self = shared_from_this()] { return self->serve(); });
}

Task<> ContextCore::State::serve() {
  const auto self = shared_from_this();
  // However this ends, nobody waits for an answer that does not come.
  struct Leaving {
    State& state;
    ~Leaving() {
      state.serving = false;
      state.end_all({ErrorCode::cancelled, "the context was closed"});
      state.current.reset();
    }
  };
  const Leaving leaving{*this};
  while (!queue.empty()) {
    current = queue.front();
    queue.pop_front();
    const auto job = current;
    auto result = co_await perform(*job);
    job->finish(std::move(result));
    current.reset();
  }
}

Task<Result<CoreResult>> ContextCore::State::perform(Job& job) {
  CoreResult result;
  if (job.kind == Job::Kind::restart) {
    CallOutput nobody(ContextCaps{}, nullptr);
    if (interpreter) co_await force_end(result, nobody);
    auto launched = co_await launch();
    if (!launched) co_return fail(std::move(launched).error());
    co_return result;
  }
  Bytes late;
  while (auto item = interpreter ? interpreter->take() : std::nullopt) {
    if (const auto* output = std::get_if<ContextOutput>(&*item)) late.count += output->bytes.size();
  }
  if (interpreter && interpreter->ended()) note_loss(result);
  if (!interpreter) {
    if (!lost.empty() && options.after_loss == AfterLoss::refuse) {
      result.ending = ContextEnding::lost;
      result.state = ContextState::lost;
      result.reason = "the context was lost: " + lost;
      co_return result;
    }
    const bool anew = !lost.empty();
    auto launched = co_await launch();
    if (!launched) co_return fail(std::move(launched).error());
    result = CoreResult{};
    result.fresh = anew;
  }
  result.late = late;
  co_await converse(job, result);
  // The sandbox itself is gone: that is for the caller's caller.
  if (auto gone = sandbox.lost(); gone && result.ending == ContextEnding::lost) co_return fail(std::move(*gone));
  co_return result;
}

Task<Status> ContextCore::State::launch() {
  const Deadline deadline = Deadline::after(options.start_limit);
  Error error{ErrorCode::internal, "no interpreter was named"};
  auto programs = dialect->programs();
  for (ExecSpec& program : programs) {
    auto launched = co_await launch(std::move(program), deadline);
    if (launched) co_return launched;
    error = std::move(launched).error();
    if (error.code != ErrorCode::not_found) break;
  }
  co_return fail(std::move(error).at("start the context"));
}

Task<Status> ContextCore::State::launch(ExecSpec program, Deadline deadline) {
  auto started = co_await sandbox.start(std::move(program), deadline);
  if (!started) co_return fail(std::move(started).error());
  auto fresh = std::make_shared<Interpreter>(executor, std::move(*started), wake);
  tasks.spawn("context: pump", [fresh] { return Interpreter::pump(fresh); });
  std::string err;
  for (;;) {
    while (auto item = fresh->take()) {
      if (const auto* event = std::get_if<DriverEvent>(&*item)) {
        if (const auto* ready = std::get_if<DriverReady>(event)) fresh->pid = ready->pid;
      } else if (const auto& output = std::get<ContextOutput>(*item); err.size() < error_excerpt) {
        err += output.bytes.substr(0, error_excerpt);
      }
    }
    if (fresh->pid != 0) break;
    if (fresh->ended()) {
      if (!*fresh->ended()) co_return fail(fresh->ended()->error());
      const Outcome& outcome = **fresh->ended();
      const auto code = outcome.ending == Ending::not_started && outcome.exit_code == 127 ? ErrorCode::not_found
                                                                                          : ErrorCode::unavailable;
      co_return fail(code, how_it_ended(*fresh) + (err.empty() ? "" : ": " + err));
    }
    if (deadline.passed()) {
      fresh->exec().stop();
      co_return fail(ErrorCode::timeout, "the interpreter was not ready in time");
    }
    co_await wake->wait(deadline);
  }
  interpreter = std::move(fresh);
  co_return Status{};
}

void ContextCore::State::note_loss(CoreResult& result) {
  lost = how_it_ended(*interpreter);
  const auto& ended = interpreter->ended();
  const bool told = ended && *ended;
  const bool memory = told && (*ended)->ending == Ending::memory_limit;
  result.ending = memory ? ContextEnding::memory : ContextEnding::lost;
  result.state = ContextState::lost;
  result.reason = lost;
  if (told) result.exit_code = (*ended)->exit_code;
  interpreter.reset();
}

Task<> ContextCore::State::converse(Job& job, CoreResult& result) {
  const std::string id = random_hex(8);
  CallOutput output(job.call.caps, [&job](const ContextOutput& piece) {
    if (!job.abandoned && job.call.listener) job.call.listener(piece);
  });
  const auto begun = std::chrono::steady_clock::now();
  interpreter->begin.clear();
  std::string request = job.call.request(id, *interpreter);
  const Deadline taken_by = Deadline::after(job.call.wall_limit + request_patience);
  auto sent = co_await interpreter->exec().write_stdin(std::move(request), taken_by);

  std::optional<ContextEnding> cut;  // why the call is being ended
  std::optional<DriverEnd> end;
  int attempts = 0;
  Deadline next = Deadline::at(begun + job.call.wall_limit);
  bool given_up = !sent;  // half a request: nothing sensible can follow
  while (!end && !interpreter->ended() && !given_up) {
    while (auto item = interpreter->take()) {
      if (auto* piece = std::get_if<ContextOutput>(&*item)) {
        output.take(std::move(*piece));
        if (output.over_limit()) break;
        continue;
      }
      auto& event = std::get<DriverEvent>(*item);
      if (auto* told = std::get_if<DriverBegin>(&event); told != nullptr && told->id == id) {
        interpreter->begin = std::move(told->rest);
      } else if (auto* over = std::get_if<DriverEnd>(&event); over != nullptr && over->id == id) {
        end = std::move(*over);
        break;
      }
    }
    if (end || interpreter->ended()) break;
    const bool over_limit = output.over_limit();
    if (!cut && (over_limit || job.abandoned || next.passed())) {
      cut = over_limit ? ContextEnding::output_limit : ContextEnding::timeout;
    } else if (!cut || !next.passed()) {
      // What is over the limit is taken without waiting: its end is behind it.
      if (!interpreter->has_more()) co_await wake->wait(next);
      continue;
    }
    const bool asked = co_await dialect->interrupt(sandbox, *interpreter, attempts++);
    given_up = !asked;
    next = Deadline::after(dialect->grace());
  }
  const auto wall = std::chrono::steady_clock::now() - begun;

  if (end) {
    result.report = std::move(end->rest);
    if (end->by == DriverEnd::By::successor) result.state = ContextState::handed_over;
    if (cut) {
      const bool clean = co_await settle(output);
      if (!clean) co_await force_end(result, output);
    }
  } else {
    if (!interpreter->ended()) co_await force_end(result, output);
    if (interpreter) note_loss(result);
  }
  if (cut) {
    result.ending = *cut;
    const std::string what = *cut == ContextEnding::timeout
                                 ? "it ran longer than " + std::to_string(job.call.wall_limit.count()) + " ms"
                                 : "it printed more than " + std::to_string(job.call.caps.stop_output.count) + " bytes";
    result.reason = what + (result.state == ContextState::lost ? ", and its interpreter had to be ended" : "");
  }
  result.wall = std::chrono::duration_cast<std::chrono::microseconds>(wall);
  output.move_into(result);
}

Task<bool> ContextCore::State::settle(CallOutput& output) {
  const bool swept = co_await dialect->sweep(sandbox, *interpreter);
  if (!swept) co_return false;
  const std::string id = random_hex(8);
  std::string request = dialect->nothing_request(id);
  if (request.empty()) co_return true;
  const Deadline deadline = Deadline::after(nothing_patience);
  auto sent = co_await interpreter->exec().write_stdin(std::move(request), deadline);
  if (!sent) co_return false;
  while (!interpreter->ended() && !deadline.passed()) {
    while (auto item = interpreter->take()) {
      if (auto* piece = std::get_if<ContextOutput>(&*item)) {
        output.take(std::move(*piece));
      } else if (const auto* over = std::get_if<DriverEnd>(&std::get<DriverEvent>(*item))) {
        if (over->id == id) co_return true;
      }
    }
    if (!interpreter->ended()) co_await wake->wait(deadline);
  }
  co_return false;
}

Task<> ContextCore::State::force_end(CoreResult& result, CallOutput& output) {
  interpreter->exec().stop();
  const Deadline deadline = Deadline::after(kill_patience);
  while (!interpreter->ended() && !deadline.passed()) {
    while (auto item = interpreter->take()) {
      if (auto* piece = std::get_if<ContextOutput>(&*item)) output.take(std::move(*piece));
    }
    if (!interpreter->ended()) co_await wake->wait(deadline);
  }
  note_loss(result);
}

}  // namespace cloche
