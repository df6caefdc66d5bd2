#include "script/script_executor.hpp"

#include "script/harness_script.hpp"

namespace cloche {

namespace {

// How long the sandbox may be silent after a script's own limit before it is given up.
constexpr std::chrono::seconds beyond_limit{30};

Error explained(Error error) {
  if (error.code != ErrorCode::not_found) return error;
  error.message = "the script harness is not prepared in this sandbox: " + error.message;
  return error;
}

}  // namespace

ScriptRun::ScriptRun(std::unique_ptr<Exec> exec, ScriptProgress progress, Deadline guard)
    : exec_(std::move(exec)), progress_(std::move(progress)), guard_(guard) {}

Task<Result<std::variant<ScriptEvent, ScriptResult>>> ScriptRun::next(Deadline deadline) {
  using Step = std::variant<ScriptEvent, ScriptResult>;
  for (;;) {
    if (auto event = progress_.next_event()) co_return Step(std::move(*event));
    if (progress_.finished()) co_return Step(progress_.take_result());
    const Deadline until = deadline.sooner(guard_);
    auto piece = co_await exec_->next(until);
    if (!piece) co_return fail(explained(std::move(piece).error()));
    if (const auto* output = std::get_if<Output>(&*piece)) {
      progress_.take(*output);
    } else if (auto ended = progress_.finish(std::move(std::get<Outcome>(*piece))); !ended) {
      co_return fail(std::move(ended).error());
    }
    if (progress_.wants_stop() && !stopped_) {
      stopped_ = true;
      exec_->stop();
    }
  }
}

Task<Status> ScriptExecutor::prepare(LiveSandbox& sandbox, ScriptHarness options, Deadline deadline) const {
  std::string source = harness_script;
  auto started = co_await sandbox.start_zygote(harness_, std::move(options.interpreter), std::move(options.imports),
                                               std::move(source), deadline);
  if (!started) co_return fail(std::move(started).error().at("prepare the script harness"));
  co_return Status{};
}

Task<Result<std::unique_ptr<ScriptRun>>> ScriptExecutor::start(LiveSandbox& sandbox, ScriptRequest request,
                                                               Deadline deadline) const {
  if (auto valid = validate(request); !valid) co_return fail(std::move(valid).error());
  const Deadline guard = Deadline::after(request.wall_limit + beyond_limit);
  ExecSpec spec = to_exec(request, harness_);
  auto started = co_await sandbox.start(std::move(spec), deadline);
  if (!started) co_return fail(explained(std::move(started).error()));
  auto exec = std::move(*started);
  // The script does not run before the harness has read all of this, so there is no output to read meanwhile.
  std::string input = to_harness_input(request);
  const Deadline until = deadline.sooner(guard);
  auto sent = co_await exec->write_stdin(std::move(input), until);
  if (!sent) co_return fail(explained(std::move(sent).error()));
  exec->close_stdin();
  co_return std::make_unique<ScriptRun>(std::move(exec), ScriptProgress(request.mode, request.caps), guard);
}

Task<Result<ScriptResult>> ScriptExecutor::run(LiveSandbox& sandbox, ScriptRequest request, ScriptListener listener,
                                               Deadline deadline) const {
  auto started = co_await start(sandbox, std::move(request), deadline);
  if (!started) co_return fail(std::move(started).error());
  const auto script = std::move(*started);
  for (;;) {
    auto step = co_await script->next(deadline);
    if (!step) co_return fail(std::move(step).error());
    if (auto* result = std::get_if<ScriptResult>(&*step)) co_return std::move(*result);
    if (listener) listener(std::get<ScriptEvent>(*step));
  }
}

}  // namespace cloche
