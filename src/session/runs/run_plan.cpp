#include "session/runs/run_plan.hpp"

#include <algorithm>

#include "context/script_start.hpp"
#include "core/ids.hpp"
#include "language/language.hpp"
#include "sandbox/spec.hpp"
#include "session/runs/run_directory.hpp"

namespace cloche::session {

namespace {

using runner::CommandOwner;
using runner::StepKind;

// A compiler that prints more is ended.
constexpr Bytes compiler_output = mib(8);
constexpr std::chrono::seconds compiler_time{60};

std::unexpected<Error> refused(std::string why) { return fail(ErrorCode::invalid_argument, std::move(why)); }

// The longest single argument that Linux takes, without the NUL that ends it. gVisor's is the same.
constexpr std::size_t longest_argument = 128 * 1024 - 1;

// Where the program starts.
Status plan_start(RunPlan& plan, const PlanContext& context, const RunRequest& request) {
  const std::string& workspace = context.binding.work_dir;
  plan.run.cwd = workspace;
  if (request.work_dir.empty() || request.work_dir == ".") return {};
  std::string path = request.work_dir;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (path == workspace) return {};
  if (path.starts_with('/') && !path.starts_with(workspace + "/")) {
    if (path != "/" && !is_clean_absolute_path(path)) {
      return refused("work_dir: must be a path without '..', '.', NUL or empty parts");
    }
    plan.run.cwd = path;
    plan.start = std::move(path);
    plan.start_in = RunPlan::StartIn::elsewhere;
    return {};
  }
  if (path.starts_with('/')) path.erase(0, workspace.size() + 1);
  // It is a path of the same kind as those of files.
  if (auto valid = runner::validate_tree({{path, ""}}); !valid) return fail(std::move(valid).error().at("work_dir"));
  plan.start = workspace + "/" + path;
  plan.run.cwd = plan.start;
  return {};
}

// The caller's values override those of the session, and those override the language's own.
std::map<std::string, std::string> environment(const PlanContext& context, const RunRequest& request,
                                               const Language& language) {
  auto env = request.env;
  env.insert(context.binding.env.begin(), context.binding.env.end());
  env.insert(language.env.begin(), language.env.end());
  if (language.module_path.empty()) return env;
  std::string& path = env[language.module_path];
  path = path.empty() ? context.binding.work_dir : context.binding.work_dir + ":" + path;
  return env;
}

ExecSpec compile_spec(const Step& step, const std::map<std::string, std::string>& env, std::string start) {
  ExecSpec spec;
  spec.argv = step.argv;
  spec.env = env;
  spec.cwd = std::move(start);
  spec.wall_limit = step.limits.wall.value_or(compiler_time);
  spec.cpu_limit = step.limits.cpu;
  spec.keep_output = step.limits.output.value_or(compiler_output);
  spec.stop_output = spec.keep_output;
  return spec;
}

bool has_zygote(const Profile& profile, const std::string& name) {
  return std::ranges::any_of(profile.zygotes, [&](const ZygoteSpec& zygote) { return zygote.name == name; });
}

// Only Python has zygotes.
void save_figures_of(ExecSpec& run, const Steps& steps, const PlanContext& context) {
  if (steps.zygote.empty()) return;
  const auto script = std::ranges::find(run.argv, steps.zygote_argv.front());
  if (script == run.argv.end()) return;
  const auto place = static_cast<std::size_t>(script - run.argv.begin());
  save_figures(run, place, context.binding.work_dir + "/figures/" + random_hex(3) + "-");
}

Status plan_code(RunPlan& plan, const PlanContext& context, const RunRequest& request, const Code& code) {
  CLOCHE_TRY(plan.language, context.languages.find(code.language));
  const Language& language = plan.language;
  plan.directory = new_run_directory();
  CLOCHE_TRY(const SourceNames names, names_of(language, code.text));
  const bool starts_in_workspace = names_directory(language);
  CLOCHE_TRY(const Steps steps, expand(language, names, starts_in_workspace ? std::string_view(plan.directory) : here));
  plan.source_path = plan.directory + "/" + steps.file;
  plan.source = with_prefix(language, code.text);
  plan.run.env = environment(context, request, language);
  if (!starts_in_workspace) plan.run.cwd = plan.directory;
  if (steps.compile) {
    // Compiled from where it starts by itself; what the caller chose is for the program.
    plan.compile =
        compile_spec(*steps.compile, plan.run.env, starts_in_workspace ? context.binding.work_dir : plan.directory);
  }
  plan.run.argv = steps.run.argv;
  // A program that was just compiled is the caller's, a tool is the language's.
  plan.owner = runs_what_it_compiled(language) ? CommandOwner::caller : CommandOwner::language;
  if (!steps.zygote.empty() && has_zygote(context.profile, steps.zygote)) {
    plan.run.zygote = steps.zygote;
    plan.run.argv = steps.zygote_argv;
  }
  save_figures_of(plan.run, steps, context);
  return {};
}

// A line that is too long for an argument is passed by a file. It is evaluated, not sourced or run as a script, so that
// `$0`, line numbers, `return` and the program's stdin are the same as with a short one.
std::string evaluation_of(const std::string& path, bool is_bash) {
  return is_bash ? "eval \"$(<'" + path + "')\"" : "eval \"$(command -p cat '" + path + "')\"";
}

Status plan_line(RunPlan& plan, const PlanContext& context, const RunRequest& request, const ShellLine& line) {
  const bool is_bash = context.shell.ends_with("/bash");
  plan.run.argv = {context.shell};
  if (line.pipes == ShellLine::Pipes::any_failure) {
    if (!is_bash) return fail(ErrorCode::unsupported, "pipefail requires bash, which this sandbox does not have");
    plan.run.argv.insert(plan.run.argv.end(), {"-o", "pipefail"});
  }
  plan.run.env = environment(context, request, plan.language);
  if (line.line.size() <= longest_argument) {
    plan.run.argv.insert(plan.run.argv.end(), {"-c", line.line});
    return {};
  }
  plan.directory = new_run_directory();
  plan.source_path = plan.directory + "/command";
  plan.source = line.line;
  plan.run.argv.insert(plan.run.argv.end(), {"-c", evaluation_of(plan.source_path, is_bash)});
  return {};
}

}  // namespace

runner::Verdict RunPlan::judge(StepKind step, const Outcome& outcome) const {
  runner::ProgramPlan program;
  program.language = language;
  Step judged;
  // For a run that is forked from a zygote, the interpreter could be missing.
  const std::vector<std::string>& argv = step == StepKind::compile ? compile->argv : run.argv;
  judged.argv = step == StepKind::run && !run.zygote.empty() ? language.run : argv;
  const CommandOwner whose = step == StepKind::compile ? CommandOwner::language : owner;
  return runner::explained(runner::judge_step(step, whose, outcome), program, judged);
}

Result<RunPlan> plan_run(const PlanContext& context, const RunRequest& request, Lifetime lifetime) {
  CLOCHE_CHECK(runner::validate_tree(request.files));
  const bool in_background = lifetime == Lifetime::background;
  if (in_background && !request.input.empty()) return refused("background programs have no stdin");
  RunPlan plan;
  CLOCHE_CHECK(plan_start(plan, context, request));
  if (const auto* code = std::get_if<Code>(&request.what)) {
    CLOCHE_CHECK(plan_code(plan, context, request, *code));
  } else {
    CLOCHE_CHECK(plan_line(plan, context, request, std::get<ShellLine>(request.what)));
  }
  const std::chrono::milliseconds usual = in_background ? default_background_time : default_run_time;
  plan.run.wall_limit = request.timeout.value_or(usual);
  plan.run.keep_output = request.keep_output;
  plan.run.stop_output = std::max(plan.run.stop_output, request.keep_output);
  plan.run.lifetime = lifetime;
  if (!request.input.empty()) plan.run.stdin_mode = Stdin::stream;
  return plan;
}

}  // namespace cloche::session
