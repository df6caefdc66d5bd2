#include "runner/code_runner.hpp"

#include "runner/assets.hpp"
#include "runner/autograder/command_step.hpp"
#include "runner/judge/interaction.hpp"
#include "runner/judge/judging.hpp"

namespace cloche::runner {

namespace {

Status validate(const Submission& submission) {
  for (const TestCase& test : submission.cases) {
    auto valid = validate_tree(test.files);
    if (!valid) return fail(std::move(valid).error().at("case " + test.name));
  }
  CLOCHE_CHECK(validate_assets(submission.assets));
  const bool by_program = submission.checker.kind == Checker::Kind::program;
  if (by_program != submission.checker.program.has_value()) {
    return fail(ErrorCode::invalid_argument, by_program
                                                 ? "the checker kind is program, but no checker program is given"
                                                 : "a checker program is given, but the checker kind is not program");
  }
  if (by_program && submission.interactor) {
    return fail(ErrorCode::invalid_argument, "an interactive problem is judged by its interactor, not by a checker");
  }
  return {};
}

// The first failure, including compiling.
void conclude(Report& report) {
  for (const CaseReport& one : report.cases) {
    if (one.passed()) continue;
    report.category = one.category;
    report.cause = one.cause;
    report.reason = one.reason;
    return;
  }
}

void put_verdict(Report& report, Verdict verdict) {
  report.category = verdict.category;
  report.cause = verdict.cause;
  report.reason = std::move(verdict.reason);
}

Task<Result<BuildResult>> plan_and_build(pool::Manager& manager, const LanguageRegistry& languages, Program program,
                                         std::string tenant, std::optional<NetworkPolicy> network, Deadline deadline) {
  CLOCHE_CO_TRY(const Language language, languages.find(program.language));
  CLOCHE_CO_TRY(StepPool place, StepPool::find(manager, language, std::move(tenant)));
  place.network = std::move(network);
  CLOCHE_CO_CHECK(place.check_asked(program.run_limits));
  CLOCHE_CO_CHECK(place.check_asked(program.compile_limits));
  const bool is_alone = program.command_alone;
  CLOCHE_CO_TRY(ProgramPlan plan, plan_program(language, std::move(program), place.options().limits_set));
  if (is_alone) plan.compilers = compilers_of(languages);
  auto built = co_await build(std::move(plan), std::move(place), deadline);
  co_return built;
}

}  // namespace

CodeRunner::CodeRunner(Executor executor, pool::Manager& manager, LanguageRegistry languages)
    : executor_(executor), manager_(manager), languages_(std::move(languages)), pairs_(executor, 1) {}

Result<Language> CodeRunner::find_served(std::string_view name, const std::string& tenant) const {
  CLOCHE_TRY(Language language, languages_.find_for(manager_.access(), tenant, name));
  if (StepPool::find(manager_, language, tenant)) return language;
  std::string served;
  for (const auto& [known, each] : languages_.all()) {
    const bool is_there = languages_.find_for(manager_.access(), tenant, known).has_value();
    if (is_there && StepPool::find(manager_, each, tenant)) served += (served.empty() ? "" : ", ") + known;
  }
  std::string tools;
  for (const Tool& tool : language.toolchain) tools += (tools.empty() ? "" : ", ") + tool.program;
  return fail(ErrorCode::invalid_argument,
              "Unsupported language: " + language.name + " (this service has no sandbox for " + language.title +
                  "; available: " + (served.empty() ? "none" : served) + "). To add it, configure a profile `" +
                  language.profile + "` that contains " + tools +
                  ", or install these on the host if no profiles are configured");
}

Task<Result<Report>> CodeRunner::run(Submission submission, Deadline deadline) {
  CLOCHE_CO_CHECK(validate(submission));
  const std::optional<Program> judging_program =
      submission.interactor ? submission.interactor : submission.checker.program;
  const std::string role = submission.interactor ? "interactor" : "checker";
  if (submission.cases.empty()) submission.cases.emplace_back();

  Report report;
  Program program = std::move(submission.program);
  std::optional<NetworkPolicy> network = std::move(submission.network);
  auto built = co_await plan_and_build(manager_, languages_, std::move(program), submission.tenant, std::move(network),
                                       deadline);
  if (!built) co_return fail(std::move(built).error());
  report.compile = std::move(built->compile);
  if (!built->verdict.passed()) {
    put_verdict(report, std::move(built->verdict));
    report.skipped = static_cast<std::uint32_t>(submission.cases.size());
    co_return report;
  }
  if (!submission.assets.empty()) {
    built->program.assets = std::make_shared<const std::vector<Asset>>(std::move(submission.assets));
  }
  std::optional<Judge> judge;
  if (judging_program) {
    // No sandbox is held while another is waited for.
    built->unused.give_back();
    auto judge_built =
        co_await plan_and_build(manager_, languages_, *judging_program, submission.tenant, std::nullopt, deadline);
    if (!judge_built) co_return fail(std::move(judge_built).error().at("the " + role));
    if (!judge_built->verdict.passed()) {
      const std::string words = judge_built->compile.err.substr(0, 4096);
      co_return fail(ErrorCode::invalid_argument, "the " + role + ": " + judge_built->verdict.reason + "\n" + words);
    }
    judge_built->unused.give_back();
    judge.emplace();
    judge->role = role;
    judge->program = std::move(judge_built->program);
    if (submission.interactor) CLOCHE_CO_CHECK(validate_pair(built->program, judge->program));
  }
  const std::size_t asked = submission.cases.size();
  Judging judging(executor_, pairs_, submission, std::move(built->program), std::move(judge));
  report.cases = co_await judging.run(std::move(built->unused), deadline);
  report.skipped = static_cast<std::uint32_t>(asked - report.cases.size());
  conclude(report);
  co_return report;
}

}  // namespace cloche::runner
