#include "runner/judge/case_run.hpp"

#include "core/log.hpp"
#include "runner/autograder/command_step.hpp"
#include "runner/judge/checkers.hpp"

namespace cloche::runner {

namespace {

Task<Result<Exec::Collected>> run_once(const BuiltProgram& program, const ProgramRun& run, pool::Lease lease,
                                       const ExecObserver& observer, Deadline deadline) {
  auto settled = co_await settle_in(lease, program, run.files, deadline);
  if (!settled) co_return fail(std::move(settled).error());
  StepRun step = run_of(program);
  step.argv.insert(step.argv.end(), run.arguments.begin(), run.arguments.end());
  step.input = run.input;
  auto ran = co_await run_step(lease, std::move(step), observer, deadline);
  if (!ran && ran.error().code == ErrorCode::timeout) lease.destroy();  // it does not answer
  co_return ran;
}

}  // namespace

Task<Result<Exec::Collected>> run_program(const BuiltProgram& program, const ProgramRun& run, pool::Lease first,
                                          const ExecObserver& observer, Deadline deadline) {
  for (int tries = 2;; --tries) {
    pool::Lease lease = std::exchange(first, pool::Lease());
    if (!lease) {
      auto claimed = co_await program.place.claim(program.plan.run.limits, Patience::wait, deadline);
      if (!claimed) co_return fail(std::move(claimed).error());
      lease = std::move(*claimed);
    }
    auto ran = co_await run_once(program, run, std::move(lease), observer, deadline);
    if (ran || ran.error().code != ErrorCode::sandbox_lost || tries == 1) co_return ran;
    log::warn("run {}: {}; retrying", program.plan.language.name, ran.error().message);
  }
}

void put_verdict(CaseReport& report, Verdict verdict) {
  report.category = verdict.category;
  report.cause = verdict.cause;
  report.reason = std::move(verdict.reason);
}

CaseReport report_of(const BuiltProgram& program, const TestCase& test, Result<Exec::Collected> ran) {
  CaseReport report;
  report.name = test.name;
  if (!ran) {
    put_verdict(report, system_failure(ran.error()));
    return report;
  }
  report.outcome = ran->outcome;
  report.out = std::move(ran->out);
  report.err = std::move(ran->err);
  const ProgramPlan& plan = program.plan;
  const StepKind step = step_of(plan.compilers, plan.run.argv, report.err);
  put_verdict(report, explained(judge_step(step, plan.owner, report.outcome), plan, plan.run));
  return report;
}

Task<> check(CaseReport& report, const TestCase& test, const Checker& checker, const Judge* judge, Deadline deadline) {
  if (!test.expected || !report.passed()) co_return;
  if (judge == nullptr) {
    Comparison compared = compare(checker, *test.expected, report.out);
    if (compared.right) co_return;
    report.cause = Cause::wrong_answer;
    report.reason = std::move(compared.reason);
    co_return;
  }
  FileTree files;
  files["input"] = test.input;
  files["expected"] = *test.expected;
  files["output"] = report.out;
  const ProgramRun run{.input = {}, .arguments = {"input", "expected", "output"}, .files = files};
  pool::Lease none;
  const ExecObserver nobody;
  auto ran = co_await run_program(judge->program, run, std::move(none), nobody, deadline);
  if (!ran) {
    Verdict failure = system_failure(ran.error());
    failure.cause = Cause::checker;
    failure.reason = "the " + judge->role + ": " + failure.reason;
    put_verdict(report, std::move(failure));
    co_return;
  }
  put_verdict(report, judge_by_program(judge->role, ran->outcome, ran->out.empty() ? ran->err : ran->out));
}

}  // namespace cloche::runner
