#include "runner/judge/judging.hpp"

#include <algorithm>
#include <thread>

#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "runner/judge/interaction.hpp"

namespace cloche::runner {

namespace {

constexpr std::uint32_t most_lanes = 64;

std::size_t cores() { return std::max(1U, std::thread::hardware_concurrency()); }

}  // namespace

Judging::Judging(Executor executor, Gate& pairs, const Submission& submission, BuiltProgram program,
                 std::optional<Judge> judge)
    : pairs_(pairs),
      submission_(submission),
      program_(std::move(program)),
      judge_(std::move(judge)),
      reports_(submission.cases.size()),
      wanted_(submission.cases.size()),
      tasks_(std::move(executor)) {}

std::size_t Judging::lanes() const {
  const std::size_t asked = submission_.parallelism == 0 ? cores() : std::min(submission_.parallelism, most_lanes);
  // More than the pool ever has would only wait.
  const std::size_t there = program_.place.options().pool.scale_limit;
  return std::max<std::size_t>(1, std::min({asked, there, submission_.cases.size()}));
}

Task<std::vector<CaseReport>> Judging::run(pool::Lease first, Deadline deadline) {
  auto handed = std::make_shared<pool::Lease>(std::move(first));
  for (std::size_t i = 0; i < lanes(); ++i) {
    tasks_.spawn("judge cases", [this, handed, deadline] { return lane(std::move(*handed), deadline); });
  }
  std::exception_ptr cancelled;
  try {
    co_await tasks_.join();
  } catch (...) {
    cancelled = std::current_exception();
  }
  if (cancelled) {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await tasks_.shut_down();
    std::rethrow_exception(cancelled);
  }
  reports_.resize(wanted_);
  co_return std::move(reports_);
}

Task<> Judging::lane(pool::Lease first, Deadline deadline) {
  while (is_wanted(next_)) {
    const std::size_t index = next_++;
    reports_[index].name = submission_.cases[index].name;
    reports_[index].reason = "the case did not finish";
    pool::Lease sandbox = std::exchange(first, pool::Lease());
    auto work = [&]() -> Task<Result<CaseReport>> {
      CLOCHE_CO_CHECK(fallible_point<"judge.case">());
      auto report = co_await judge(index, std::move(sandbox), deadline);
      co_return report;
    };
    // An internal failure is a system error of this case, and the other cases are still judged.
    auto judged = co_await guarded("judge a case", std::move(work));
    if (judged) settle(index, std::move(*judged));
  }
}

void Judging::settle(std::size_t index, CaseReport report) {
  if (!is_wanted(index)) return;
  const bool passed = report.passed();
  reports_[index] = std::move(report);
  if (passed || submission_.after_failure == AfterFailure::go_on) return;
  wanted_ = index + 1;
  for (const Running& run : running_) {
    if (!is_wanted(run.index)) run.exec->stop();
  }
}

Task<CaseReport> Judging::judge(std::size_t index, pool::Lease first, Deadline deadline) {
  const TestCase& test = submission_.cases[index];
  const ExecObserver watch = [this, index](Exec* exec) {
    std::erase_if(running_, [index](const Running& run) { return run.index == index; });
    if (exec == nullptr) return;
    running_.push_back({index, exec});
    if (!is_wanted(index)) exec->stop();
  };
  if (judge_ && submission_.interactor) {
    first.give_back();
    auto report = co_await interact(program_, *judge_, test, pairs_, watch, deadline);
    co_return report;
  }
  const ProgramRun run{.input = test.input, .arguments = test.arguments, .files = test.files};
  auto ran = co_await run_program(program_, run, std::move(first), watch, deadline);
  CaseReport report = report_of(program_, test, std::move(ran));
  co_await check(report, test, submission_.checker, judge_ ? &*judge_ : nullptr, deadline);
  co_return report;
}

}  // namespace cloche::runner
