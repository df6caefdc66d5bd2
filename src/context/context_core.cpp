#include "context/context_core.hpp"

#include <deque>

#include "core/async/guarded.hpp"
#include "core/async/shielded.hpp"
#include "core/fault_point.hpp"

namespace cloche {

namespace {

constexpr std::size_t most_waiting = 16;

Error closed_error() { return {ErrorCode::cancelled, "the context was closed"}; }

}  // namespace

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
  bool done = false;
  Result<CoreResult> result;
  Event changed;
};

struct ContextCore::State : std::enable_shared_from_this<ContextCore::State> {
  State(Executor e, LiveSandbox& sandbox, std::unique_ptr<Dialect> dialect, AfterLoss after_loss)
      : executor(e), runner(e, sandbox, std::move(dialect), after_loss), tasks(e) {}

  void begin_serving();
  Task<> serve();
  Task<Result<CoreResult>> do_job(Job& job);
  void end_all(const Error& why);
  Task<> shut_down();

  Executor executor;
  CallRunner runner;
  std::deque<std::shared_ptr<Job>> queue;
  std::shared_ptr<Job> current;
  bool serving = false;
  bool closed = false;
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
    job_->call.abandoned = true;
    std::erase(state_->queue, job_);
    state_->runner.wake();
  }

 private:
  std::shared_ptr<State> state_;
  std::shared_ptr<Job> job_;
};

ContextCore::ContextCore(Executor executor, LiveSandbox& sandbox, std::unique_ptr<Dialect> dialect,
                         AfterLoss after_loss)
    : state_(std::make_shared<State>(std::move(executor), sandbox, std::move(dialect), after_loss)) {}

ContextCore::~ContextCore() {
  state_->closed = true;
  state_->end_all(closed_error());
  state_->tasks.cancel();
  state_->runner.cancel();
}

bool ContextCore::alive() const { return state_->runner.alive(); }

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
  if (state->closed) co_return fail(closed_error());
  if (state->queue.size() >= most_waiting) {
    co_return fail(ErrorCode::limit_reached, "too many calls are waiting for this context");
  }
  const Abandonment abandonment(state, job);
  state->queue.push_back(job);
  state->begin_serving();
  while (!job->done) {
    if (deadline.passed()) {
      const bool waits = state->current != job;
      co_return fail(ErrorCode::timeout, waits ? "the context was busy with other calls for too long"
                                               : "the call did not end in time and was interrupted");
    }
    co_await job->changed.wait(deadline);
  }
  co_return std::move(job->result);
}

Task<> ContextCore::close() {
  const auto state = state_;
  state->closed = true;
  state->end_all(closed_error());
  auto work = [state] { return state->shut_down(); };
  co_await shielded(std::move(work));
}

Task<> ContextCore::State::shut_down() {
  const auto self = shared_from_this();
  co_await tasks.shut_down();
  co_await runner.shut_down();
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
  // In every case the waiting callers get a response.
  struct Leaving {
    State& state;
    ~Leaving() {
      state.serving = false;
      state.end_all(closed_error());
      state.current.reset();
    }
  };
  const Leaving leaving{*this};
  while (!queue.empty()) {
    current = queue.front();
    queue.pop_front();
    const auto job = current;
    auto work = [this, &job] { return do_job(*job); };
    auto result = co_await guarded("context", std::move(work));
    job->finish(std::move(result));
    current.reset();
  }
}

Task<Result<CoreResult>> ContextCore::State::do_job(Job& job) {
  CLOCHE_CO_CHECK(fallible_point<"context.job">());
  if (job.kind == Job::Kind::call) {
    auto result = co_await runner.perform(job.call);
    co_return result;
  }
  auto restarted = co_await runner.restart();
  if (!restarted) co_return fail(std::move(restarted).error());
  co_return CoreResult{};
}

}  // namespace cloche
