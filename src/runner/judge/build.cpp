#include "runner/judge/build.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "runner/assets.hpp"

namespace cloche::runner {

namespace {

// The limit of the packed work directory after compiling; it is kept in memory while the cases run.
constexpr Bytes most_packed = mib(256);
constexpr std::size_t piece = 256 << 10;
constexpr std::chrono::seconds file_timeout{60};
// Compiling is slower than running; languages and callers may say otherwise.
constexpr std::chrono::seconds default_compile_wall{60};

Files::Source from_shared(std::shared_ptr<const std::string> bytes) {
  auto at = std::make_shared<std::size_t>(0);
  return [bytes = std::move(bytes), at]() -> Task<Result<std::string>> {
    std::string part = bytes->substr(*at, piece);
    *at += part.size();
    co_return part;
  };
}

// Everything in the work directory; nullopt when it is more than is kept.
Task<Result<std::optional<std::string>>> pack_work_dir(pool::Lease& lease, Deadline deadline) {
  std::string tar;
  bool too_large = false;
  Files::Sink sink = [&](std::string bytes) -> Task<Status> {
    too_large = tar.size() + bytes.size() > most_packed.count;
    if (too_large) co_return fail(ErrorCode::limit_reached, "too large");
    tar += bytes;
    co_return Status{};
  };
  auto files = lease->files();
  FilePath work_dir(lease.binding().work_dir);
  auto packed = co_await files.pack(std::move(work_dir), std::move(sink), deadline);
  if (too_large) co_return std::optional<std::string>();
  if (!packed) co_return fail(std::move(packed).error().at("pack the compiled program"));
  co_return std::optional(std::move(tar));
}

// One try, in one sandbox.
Task<Status> compile_in(pool::Lease lease, BuildResult& result, Deadline deadline) {
  const ProgramPlan& plan = result.program.plan;
  const Step& step = *plan.compile;
  const Deadline files_by = deadline.sooner(Deadline::after(file_timeout));
  auto written = co_await write_tree(lease, plan.files, files_by);
  if (!written) co_return written;
  StepRun run;
  run.argv = step.argv;
  run.env = step.env;
  run.limits = step.limits;
  const ExecObserver nobody;
  auto ran = co_await run_step(lease, std::move(run), nobody, deadline);
  if (!ran) {
    if (ran.error().code == ErrorCode::timeout) lease.destroy();  // it does not answer
    co_return fail(std::move(ran).error());
  }
  result.compile.ran = true;
  result.compile.outcome = ran->outcome;
  result.compile.out = std::move(ran->out);
  result.compile.err = std::move(ran->err);
  result.verdict = explained(judge_step(StepKind::compile, CommandOwner::language, ran->outcome), plan, step);
  if (!result.verdict.passed()) co_return Status{};
  const Deadline packed_by = deadline.sooner(Deadline::after(file_timeout));
  auto packed = co_await pack_work_dir(lease, packed_by);
  if (!packed) co_return fail(std::move(packed).error());
  if (*packed) {
    result.program.tree = std::make_shared<const std::string>(std::move(**packed));
  } else {
    result.verdict.category = Category::compilation_error;
    result.verdict.cause = Cause::output;
    result.verdict.reason = "the compiler wrote more than " + to_string(most_packed) + " to the work directory";
  }
  co_return Status{};
}

}  // namespace

Task<Result<BuildResult>> build(ProgramPlan plan, StepPool place, Deadline deadline) {
  BuildResult result;
  if (plan.compile && !plan.compile->limits.wall) plan.compile->limits.wall = default_compile_wall;
  CLOCHE_CO_CHECK(place.validate(plan.run.limits));
  if (plan.compile) CLOCHE_CO_CHECK(place.validate(plan.compile->limits));
  result.program.plan = std::move(plan);
  result.program.place = std::move(place);
  const ProgramPlan& planned = result.program.plan;
  const StepLimits limits = planned.compile ? planned.compile->limits : planned.run.limits;
  for (int tries = 2;; --tries) {
    const Patience patience = tries == 2 ? Patience::as_configured : Patience::wait;
    auto lease = co_await result.program.place.claim(limits, patience, deadline);
    if (!lease) co_return fail(std::move(lease).error());
    if (!planned.compile) {
      result.unused = std::move(*lease);
      co_return result;
    }
    auto compiled = co_await compile_in(std::move(*lease), result, deadline);
    if (compiled) co_return result;
    if (compiled.error().code != ErrorCode::sandbox_lost || tries == 1) {
      result.verdict = system_failure(compiled.error());
      co_return result;
    }
    log::warn("compile {}: {}; retrying", planned.language.name, compiled.error().message);
  }
}

Task<Status> settle_in(pool::Lease& lease, const BuiltProgram& program, const FileTree& files, Deadline deadline) {
  const Deadline by = deadline.sooner(Deadline::after(file_timeout));
  if (program.tree) {
    auto there = lease->files();
    FilePath work_dir(lease.binding().work_dir);
    Files::Source source = from_shared(program.tree);
    TarCaps caps;
    caps.read_only = WriteOptions::ReadOnly::replace;
    auto unpacked = co_await there.unpack(std::move(work_dir), std::move(source), caps, by);
    if (!unpacked) co_return fail(std::move(unpacked).error().at("unpack the compiled program"));
  } else {
    auto written = co_await write_tree(lease, program.plan.files, by);
    if (!written) co_return written;
  }
  auto written = co_await write_tree(lease, files, by);
  if (!written || !program.assets) co_return written;
  auto injected = co_await write_assets(*lease, *program.assets, by);
  co_return injected;
}

StepRun run_of(const BuiltProgram& program) {
  const ProgramPlan& plan = program.plan;
  StepRun run;
  run.argv = plan.run.argv;
  run.env = plan.run.env;
  run.limits = plan.run.limits;
  const auto& zygotes = program.place.options().zygotes;
  const auto fits = [&](const ZygoteSpec& zygote) { return zygote.name == plan.zygote; };
  if (!plan.zygote.empty() && std::ranges::any_of(zygotes, fits)) {
    run.zygote = plan.zygote;
    run.argv = plan.zygote_argv;
  }
  return run;
}

Verdict explained(Verdict verdict, const ProgramPlan& plan, const Step& step) {
  if (verdict.cause != Cause::not_started || verdict.category != Category::system_error) return verdict;
  for (const Tool& tool : plan.language.toolchain) {
    if (tool.program == step.argv.front()) verdict.reason = missing_tool(plan.language, tool);
  }
  return verdict;
}

}  // namespace cloche::runner
