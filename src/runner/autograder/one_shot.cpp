#include "runner/autograder/one_shot.hpp"

#include <algorithm>

#include "core/async/blocking.hpp"
#include "core/async/shielded.hpp"
#include "core/log.hpp"
#include "pool/making.hpp"
#include "runner/autograder/one_shot_result.hpp"
#include "runner/host_run.hpp"
#include "runner/judge/program_plan.hpp"

namespace cloche::runner {

namespace {

constexpr std::chrono::minutes make_timeout{10};
constexpr std::chrono::seconds file_timeout{60};
constexpr std::chrono::seconds compile_wall{60};
constexpr Bytes most_output = mib(16);
constexpr Bytes default_memory = mib(128);
constexpr std::chrono::seconds default_timeout{10};
const std::string own_work_dir = "/sandbox";

const char* const host_warning =
    "this ran on the host, without a sandbox and with no limits except time and output (allow_unsandboxed)";

ExecSpec to_exec(Step step, std::chrono::milliseconds timeout) {
  ExecSpec spec;
  spec.argv = std::move(step.argv);
  spec.env = std::move(step.env);
  spec.wall_limit = timeout;
  spec.keep_output = most_output;
  spec.stop_output = most_output;
  return spec;
}

}  // namespace

// The sandbox of one run: made for it, or claimed. Destroyed in any case.
class OneShot::Place {
 public:
  explicit Place(std::shared_ptr<LiveSandbox> made) : sandbox_(std::move(made)) {
    binding_.work_dir = sandbox_->spec().work_dir;
  }
  explicit Place(pool::Lease lease) : sandbox_(lease.shared()), binding_(lease.binding()), lease_(std::move(lease)) {}

  Task<> destroy() {
    if (lease_) {
      lease_.destroy();
      co_return;
    }
    const auto sandbox = sandbox_;
    co_await pool::destroy_for_sure(sandbox);
  }

  LiveSandbox& sandbox() const { return *sandbox_; }

  Task<Status> write(const FileTree& files, Deadline deadline) const {
    auto there = sandbox_->files();
    for (const auto& [name, content] : files) {
      FilePath place = FilePath::beneath(binding_.work_dir, name);
      std::string bytes = content;
      WriteOptions how;
      auto written = co_await there.write(std::move(place), std::move(bytes), how, deadline);
      if (!written) co_return fail(std::move(written).error().at("write " + name));
    }
    co_return Status{};
  }

  // No outcome: the sandbox did not answer until long after the program's own timeout.
  Task<Result<std::optional<Exec::Collected>>> run(Step step, std::string input, std::chrono::milliseconds timeout,
                                                   std::chrono::milliseconds outer, Deadline deadline) const {
    ExecSpec spec = to_exec(std::move(step), timeout);
    if (!input.empty()) {
      spec.stdin_mode = Stdin::bytes;
      spec.input = std::move(input);
    }
    binding_.apply_to(spec);
    const Deadline guard = Deadline::after(timeout + outer).sooner(deadline);
    auto ran = co_await sandbox_->run(std::move(spec), guard);
    if (ran) co_return std::optional(std::move(*ran));
    if (ran.error().code == ErrorCode::timeout) co_return std::optional<Exec::Collected>();
    co_return fail(std::move(ran).error());
  }

 private:
  std::shared_ptr<LiveSandbox> sandbox_;
  pool::Binding binding_;
  pool::Lease lease_;
};

namespace {

// Runs `use` with the place and destroys the place, whatever happens.
template <class Place, class Use>
Task<Result<OneShotResult>> and_destroy(std::unique_ptr<Place> place, Use use) {
  std::exception_ptr thrown;
  Result<OneShotResult> result = fail(ErrorCode::cancelled, "cancelled");
  try {
    result = co_await use(*place);
  } catch (...) {
    thrown = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  auto work = [&place] { return place->destroy(); };
  co_await shielded(std::move(work));
  if (thrown) std::rethrow_exception(thrown);
  co_return result;
}

}  // namespace

OneShot::OneShot(Backend& backend, pool::Manager* manager, LanguageRegistry languages, OneShotOptions options)
    : backend_(backend), manager_(manager), languages_(std::move(languages)), options_(std::move(options)) {
  if (options_.allow_unsandboxed) {
    log::warn("allow_unsandboxed is on: code in a language that has no sandbox runs on the host");
  }
}

OneShot::~OneShot() { threads_.join(); }

Task<Result<std::unique_ptr<OneShot::Place>>> OneShot::open(std::string image, std::string profile,
                                                            std::string work_dir, LimitOverrides limits,
                                                            Deadline deadline) {
  if (!profile.empty()) {
    if (manager_ == nullptr) co_return fail(ErrorCode::not_found, "no pools are configured");
    ClaimOptions options;
    options.limits = limits;
    auto lease = co_await manager_->acquire(std::move(profile), std::move(options), deadline);
    if (!lease) co_return fail(std::move(lease).error());
    co_return std::make_unique<Place>(std::move(*lease));
  }
  SandboxSpec spec;
  spec.image = std::move(image);
  spec.runtime = options_.runtime;
  spec.work_dir = work_dir.empty() ? own_work_dir : std::move(work_dir);
  spec.limits = limits.over(spec.limits);
  const Profile plain;
  const Deadline made_by = deadline.sooner(Deadline::after(make_timeout));
  auto made = co_await pool::make_sandbox(backend_, std::move(spec), plain, made_by);
  if (!made) co_return fail(std::move(made).error());
  co_return std::make_unique<Place>(std::move(*made));
}

Task<Result<OneShotResult>> OneShot::run(OneShotRequest request, Deadline deadline) {
  if (request.command.empty()) co_return fail(ErrorCode::invalid_argument, "missing command");
  FileTree files;
  if (!request.code_file.empty()) files[request.code_file] = std::move(request.code);
  CLOCHE_CO_CHECK(validate_tree(files));
  LimitOverrides limits;
  limits.memory = request.memory;
  limits.cpus = request.cpus;
  auto opened = co_await open(request.image, request.profile, request.work_dir, limits, deadline);
  if (!opened) co_return fail(std::move(opened).error());
  const auto timeout = request.timeout;
  const auto outer = options_.outer_timeout;
  Step step;
  step.argv.push_back(std::move(request.command));
  step.argv.insert(step.argv.end(), request.arguments.begin(), request.arguments.end());
  step.env = std::move(request.env);
  std::string input = joined_lines(request.input);
  auto use = [&files, &step, &input, timeout, outer, deadline](Place& place) -> Task<Result<OneShotResult>> {
    const Deadline written_by = deadline.sooner(Deadline::after(file_timeout));
    auto written = co_await place.write(files, written_by);
    if (!written) co_return fail(std::move(written).error());
    auto ran = co_await place.run(std::move(step), std::move(input), timeout, outer, deadline);
    if (!ran) co_return fail(std::move(ran).error());
    if (!*ran) co_return given_up();
    co_return to_one_shot_result(StepKind::run, std::move(**ran));
  };
  auto place = std::move(*opened);
  auto result = co_await and_destroy(std::move(place), std::move(use));
  co_return result;
}

// Empty: no pool is needed, a sandbox can be created. An error: there is no sandbox for it.
Result<std::string> OneShot::find_profile(const Language& language) const {
  if (manager_ != nullptr) {
    for (const std::string& name : {language.name, language.profile}) {
      if (auto pool = manager_->find(name)) return (*pool)->profile().name;
    }
  }
  if (!backend_.needs_image() || !language.image.empty()) return std::string();
  return fail(ErrorCode::unsupported, language.title +
                                          " has no sandbox to run in; configure a profile or an image for it. " +
                                          "(allow_unsandboxed would run it on the host, but it is off.)");
}

Task<Result<OneShotResult>> OneShot::run_code(OneShotCode code, Deadline deadline) {
  CLOCHE_CO_TRY(const Language language, languages_.find(code.language, UnknownLanguage::not_supported));
  auto profile = find_profile(language);
  if (!profile) {
    if (!options_.allow_unsandboxed) co_return fail(std::move(profile).error());
    auto ran = co_await run_unsandboxed(language, std::move(code));
    co_return ran;
  }
  Program program;
  program.source = std::move(code.code);
  const LimitOverrides set = profile->empty() ? LimitOverrides() : (*manager_->find(*profile))->profile().limits_set;
  CLOCHE_CO_TRY(ProgramPlan plan, plan_program(language, std::move(program), set));
  LimitOverrides limits;
  const Bytes own_memory = plan.run.limits.memory.value_or(set.memory.value_or(default_memory));
  const Bytes memory = code.memory.value_or(own_memory);
  const Bytes compile_memory = plan.compile ? plan.compile->limits.memory.value_or(own_memory) : memory;
  limits.memory = std::max(memory, compile_memory);
  limits.cpus = code.cpus;
  limits.pids = plan.run.limits.pids;
  if (plan.compile && plan.compile->limits.pids > limits.pids) limits.pids = plan.compile->limits.pids;
  std::string image = backend_.needs_image() ? language.image : std::string();
  std::string work_dir;
  auto opened = co_await open(std::move(image), std::move(*profile), std::move(work_dir), limits, deadline);
  if (!opened) co_return fail(std::move(opened).error());

  const auto timeout = code.timeout.value_or(plan.run.limits.wall.value_or(default_timeout));
  const auto outer = options_.outer_timeout;
  std::string input = joined_lines(code.input);
  auto use = [&plan, &input, memory, timeout, outer, deadline](Place& place) -> Task<Result<OneShotResult>> {
    const Deadline written_by = deadline.sooner(Deadline::after(file_timeout));
    auto written = co_await place.write(plan.files, written_by);
    if (!written) co_return fail(std::move(written).error());
    if (plan.compile) {
      const auto wall = plan.compile->limits.wall.value_or(compile_wall);
      std::string nothing;
      auto compiled = co_await place.run(*plan.compile, std::move(nothing), wall, outer, deadline);
      if (!compiled) co_return fail(std::move(compiled).error());
      if (!*compiled) co_return given_up();
      if (!(*compiled)->outcome.success()) co_return to_one_shot_result(StepKind::compile, std::move(**compiled));
      Limits to_run = place.sandbox().limits();
      to_run.memory = memory;
      auto limited = co_await place.sandbox().set_limits(to_run);
      if (!limited) co_return fail(std::move(limited).error().at("limit the run's memory"));
    }
    auto ran = co_await place.run(plan.run, std::move(input), timeout, outer, deadline);
    if (!ran) co_return fail(std::move(ran).error());
    if (!*ran) co_return given_up();
    co_return to_one_shot_result(StepKind::run, std::move(**ran));
  };
  auto place = std::move(*opened);
  auto result = co_await and_destroy(std::move(place), std::move(use));
  co_return result;
}

Task<Result<OneShotResult>> OneShot::run_unsandboxed(const Language& language, OneShotCode code) {
  log::warn("{} runs on the host, without a sandbox", language.title);
  Program program;
  program.source = std::move(code.code);
  CLOCHE_CO_TRY(ProgramPlan plan, plan_program(language, std::move(program)));
  std::string input = joined_lines(code.input);
  const auto timeout = code.timeout.value_or(plan.run.limits.wall.value_or(default_timeout));
  auto work = [plan = std::move(plan), input = std::move(input), timeout]() -> Result<OneShotResult> {
    CLOCHE_TRY(const HostDirectory directory, HostDirectory::make(plan.files));
    HostRun run;
    run.directory = directory.path();
    run.output = most_output;
    if (plan.compile) {
      run.argv = plan.compile->argv;
      run.env = plan.compile->env;
      run.wall = plan.compile->limits.wall.value_or(compile_wall);
      CLOCHE_TRY(Exec::Collected compiled, run_on_host(run));
      if (!compiled.outcome.success()) return to_one_shot_result(StepKind::compile, std::move(compiled));
    }
    run.argv = plan.run.argv;
    run.env = plan.run.env;
    run.wall = timeout;
    run.input = input;
    CLOCHE_TRY(Exec::Collected ran, run_on_host(run));
    return to_one_shot_result(StepKind::run, std::move(ran));
  };
  auto ran = co_await run_blocking(threads_, std::move(work));
  if (!ran) co_return fail(std::move(ran).error());
  ran->sandboxed = false;
  ran->warning = host_warning;
  co_return ran;
}

}  // namespace cloche::runner
