#include "runner/judge/interaction.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "core/log.hpp"

namespace cloche::runner {

namespace {

// Output of one program that the other has not read yet.
struct Pipe {
  explicit Pipe(const Executor& executor) : changed(executor) {}

  void push(std::string_view bytes) {
    if (broken) return;
    waiting += bytes;
    changed.notify();
  }
  // No more will come.
  void end() {
    ended = true;
    changed.notify();
  }
  // The reader is gone.
  void break_off() {
    broken = true;
    waiting.clear();
    changed.notify();
  }

  std::string waiting;
  bool ended = false;
  bool broken = false;
  Event changed;
};

Task<> carry(Pipe& pipe, Exec& reader, Deadline deadline) {
  for (;;) {
    if (pipe.broken || deadline.passed()) co_return;
    if (pipe.waiting.empty()) {
      if (pipe.ended) break;
      co_await pipe.changed.wait(deadline);
      continue;
    }
    std::string next = std::exchange(pipe.waiting, {});
    auto sent = co_await reader.write_stdin(std::move(next), deadline);
    if (!sent) co_return;  // the end of the reader explains why
  }
  reader.close_stdin();
}

struct Talk {
  explicit Talk(const Executor& executor) : to_program(executor), to_interactor(executor) {}

  std::unique_ptr<Exec> program;
  std::unique_ptr<Exec> interactor;
  Pipe to_program;
  Pipe to_interactor;
  std::optional<Result<Exec::Collected>> program_end;
  std::optional<Result<Exec::Collected>> interactor_end;
  bool program_first = false;
};

// Reads without pause, so that an end is seen at once; what a program may print is bounded.
Task<Result<Exec::Collected>> listen(Exec& exec, Pipe& to_other, Deadline deadline) {
  Exec::Collected collected;
  OutputSink sink = [&](const Output& piece) {
    if (piece.stream == Stream::out) to_other.push(piece.bytes);
    collected.add(piece);
  };
  auto outcome = co_await exec.read(std::move(sink), deadline);
  if (!outcome) co_return fail(std::move(outcome).error());
  collected.outcome = std::move(*outcome);
  co_return collected;
}

Task<> follow_program(Talk& talk, Deadline deadline) {
  auto ended = co_await listen(*talk.program, talk.to_interactor, deadline);
  talk.program_first = !talk.interactor_end;
  const bool lost = !ended;
  talk.program_end = std::move(ended);
  talk.to_interactor.end();
  talk.to_program.break_off();
  if (lost) talk.interactor->stop();
}

Task<> follow_interactor(Talk& talk, Deadline deadline) {
  auto ended = co_await listen(*talk.interactor, talk.to_program, deadline);
  const bool content = ended && ended->outcome.success();
  talk.interactor_end = std::move(ended);
  talk.to_program.end();
  talk.to_interactor.break_off();
  if (!content) talk.program->stop();
}

struct Ends {
  Exec::Collected program;
  Exec::Collected interactor;
  bool program_first = false;
};

StepLimits interactor_limits(const BuiltProgram& program, const BuiltProgram& interactor) {
  // It waits for the program, so it has the program's time and its own.
  StepLimits limits = interactor.plan.run.limits;
  limits.wall = limits.wall.value_or(default_wall) + program.plan.run.limits.wall.value_or(default_wall);
  return limits;
}

struct Pair {
  pool::Lease program;
  pool::Lease interactor;
};

Task<Result<Pair>> claim_pair(const BuiltProgram& program, const BuiltProgram& interactor, Gate& pairs,
                              Deadline deadline) {
  const Gate::Pass pass = co_await pairs.enter(Urgency::ordinary);
  Pair pair;
  auto first = co_await program.place.claim(program.plan.run.limits, Patience::wait, deadline);
  if (!first) co_return fail(std::move(first).error());
  pair.program = std::move(*first);
  auto second = co_await interactor.place.claim(interactor.plan.run.limits, Patience::wait, deadline);
  if (!second) co_return fail(std::move(second).error());
  pair.interactor = std::move(*second);
  co_return pair;
}

Task<Result<std::unique_ptr<Exec>>> start_in(pool::Lease& lease, const BuiltProgram& program, StepLimits limits,
                                             std::vector<std::string> arguments, Deadline deadline) {
  StepRun run = run_of(program);
  run.limits = limits;
  run.argv.insert(run.argv.end(), arguments.begin(), arguments.end());
  ExecSpec spec = to_spec(std::move(run));
  spec.stdin_mode = Stdin::stream;
  auto started = co_await lease.start(std::move(spec), deadline);
  co_return started;
}

Task<Result<Ends>> talk_once(const BuiltProgram& program, const BuiltProgram& interactor, const TestCase& test,
                             Gate& pairs, const ExecObserver& observer, Deadline deadline) {
  const Executor executor = co_await asio::this_coro::executor;
  CLOCHE_CO_TRY(Pair pair, co_await claim_pair(program, interactor, pairs, deadline));
  FileTree files;
  files["input"] = test.input;
  files["expected"] = test.expected.value_or("");
  CLOCHE_CO_CHECK(co_await settle_in(pair.program, program, test.files, deadline));
  CLOCHE_CO_CHECK(co_await settle_in(pair.interactor, interactor, files, deadline));

  const StepLimits limits = interactor_limits(program, interactor);
  const Deadline guard = guard_of(limits, deadline);
  Talk talk(executor);
  const StepLimits own = program.plan.run.limits;
  std::vector<std::string> names{"input", "expected"};
  std::vector<std::string> arguments = test.arguments;
  CLOCHE_CO_TRY(talk.interactor, co_await start_in(pair.interactor, interactor, limits, std::move(names), guard));
  CLOCHE_CO_TRY(talk.program, co_await start_in(pair.program, program, own, std::move(arguments), guard));
  {
    const ExecObserverScope observed(observer, *talk.program);
    using asio::experimental::awaitable_operators::operator&&;
    co_await (follow_program(talk, guard) && follow_interactor(talk, guard) &&
              carry(talk.to_program, *talk.program, guard) && carry(talk.to_interactor, *talk.interactor, guard));
  }
  for (auto* end : {&talk.program_end, &talk.interactor_end}) {
    if (**end) continue;
    if ((*end)->error().code == ErrorCode::timeout) {  // one of them does not answer
      pair.program.destroy();
      pair.interactor.destroy();
    }
    co_return fail((*end)->error());
  }
  Ends ends;
  ends.program = std::move(**talk.program_end);
  ends.interactor = std::move(**talk.interactor_end);
  ends.program_first = talk.program_first;
  co_return ends;
}

}  // namespace

Status validate_pair(const BuiltProgram& program, const BuiltProgram& interactor) {
  CLOCHE_CHECK(interactor.place.validate(interactor_limits(program, interactor)));
  if (program.place.profile == interactor.place.profile && program.place.options().pool.scale_limit < 2) {
    return fail(ErrorCode::limit_reached,
                "an interactive problem requires two sandboxes at a time, but the pool of profile '" +
                    program.place.profile + "' never has more than one; raise scale_limit");
  }
  return {};
}

Task<CaseReport> interact(const BuiltProgram& program, const Judge& interactor, const TestCase& test, Gate& pairs,
                          const ExecObserver& observer, Deadline deadline) {
  for (int tries = 2;; --tries) {
    auto ends = co_await talk_once(program, interactor.program, test, pairs, observer, deadline);
    if (!ends) {
      const bool again = tries > 1 && ends.error().code == ErrorCode::sandbox_lost;
      if (!again) co_return report_of(program, test, fail(std::move(ends).error()));
      log::warn("interact: {}; retrying", ends.error().message);
      continue;
    }
    Verdict word = judge_by_program(interactor.role, ends->interactor.outcome, ends->interactor.err);
    CaseReport report = report_of(program, test, std::move(ends->program));
    // A program that was stopped, or failed, after the interactor's word against it is judged by that word.
    if (!ends->program_first ? !word.passed() : report.passed()) put_verdict(report, std::move(word));
    co_return report;
  }
}

}  // namespace cloche::runner
