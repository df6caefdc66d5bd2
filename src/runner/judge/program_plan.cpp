#include "runner/judge/program_plan.hpp"

#include <algorithm>

#include "runner/autograder/shell_words.hpp"
#include "runner/judge/excerpt.hpp"

namespace cloche::runner {

namespace {

constexpr std::size_t longest_path = 4096;
// What callers write for the language's own command.
constexpr std::string_view own_command = "CMD";
// The default program name of compilers, which callers use for the language's own command.
constexpr std::string_view usual_output = "./a.out";

std::unexpected<Error> refused(std::string why) { return fail(ErrorCode::invalid_argument, std::move(why)); }

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool has_extension_of(const Language& language, std::string_view path) {
  return std::ranges::any_of(language.extensions, [&](const std::string& ext) { return path.ends_with(ext); });
}

bool may_hold_main(const Language& language, const std::string& content) {
  return language.class_from != ClassFrom::java || content.find("void main") != std::string::npos;
}

// The steps use only the name of the main file; it may be in a directory.
void put_path(std::vector<std::string>& argv, const std::string& name, const std::string& path) {
  if (name != path) std::ranges::replace(argv, name, path);
}

std::vector<std::string> other_sources(const Language& language, const FileTree& files, const std::string& main_file) {
  std::vector<std::string> others;
  for (const auto& [path, content] : files) {
    // With a leading directory no name is taken for an option.
    if (path != main_file && has_extension_of(language, path)) others.push_back("./" + path);
  }
  return others;
}

struct MainFile {
  std::string path;
  Steps steps;
};

Result<MainFile> plan_source(const Language& language, Program& program) {
  MainFile main;
  SourceNames names;
  if (!program.source.empty() || program.files.empty()) {
    CLOCHE_TRY(names, names_of(language, program.source));
    main.path = names.file;
    const bool is_new = program.files.emplace(main.path, std::move(program.source)).second;
    if (!is_new) return refused("the source and one of the files are both named " + main.path);
  } else {
    CLOCHE_TRY(main.path, find_main_file(language, program.files));
    CLOCHE_TRY(names, names_of(language, program.files.at(main.path)));
    names.file = base_name(main.path);
  }
  std::string& source = program.files.at(main.path);
  source = with_prefix(language, source);
  names.others = other_sources(language, program.files, main.path);
  CLOCHE_TRY(main.steps, expand(language, names));
  Steps& steps = main.steps;
  if (steps.compile) put_path(steps.compile->argv, names.file, main.path);
  put_path(steps.run.argv, names.file, main.path);
  put_path(steps.zygote_argv, names.file, main.path);
  return main;
}

// Limits of a language are ignored if the configuration of its profile sets them.
StepLimits beneath_profile(StepLimits limits, const LimitOverrides& profile) {
  if (profile.memory) limits.memory.reset();
  if (profile.pids) limits.pids.reset();
  if (profile.file_size) limits.file_size.reset();
  return limits;
}

template <class T>
void raise(std::optional<T>& value, const std::optional<T>& other) {
  if (other && (!value || *value < *other)) value = other;
}

// A command of the caller's own may compile as well as run: it has the room that the larger of the two needs.
StepLimits roomy(StepLimits run, const StepLimits& compile) {
  raise(run.memory, compile.memory);
  raise(run.pids, compile.pids);
  raise(run.file_size, compile.file_size);
  return run;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Only the files and the command; what is done with them is the command's to say.
Result<ProgramPlan> plan_command_alone(const Language& language, Program program, std::vector<std::string> command,
                                       const LimitOverrides& profile) {
  if (!program.source.empty()) {
    CLOCHE_TRY(const SourceNames names, names_of(language, program.source));
    const bool is_new = program.files.emplace(names.file, std::move(program.source)).second;
    if (!is_new) return refused("the source and one of the files are both named " + names.file);
  }
  ProgramPlan plan;
  plan.language = language;
  plan.files = std::move(program.files);
  plan.owner = CommandOwner::caller;
  plan.run.argv = std::move(command);
  append(plan.run.argv, program.arguments);
  plan.run.env = language.env;
  const StepLimits own = roomy(language.run_limits, language.compile_limits);
  const StepLimits set = roomy(language.run_limits_set, language.compile_limits_set);
  plan.run.limits = over(program.run_limits, over(set, beneath_profile(own, profile)));
  return plan;
}

}  // namespace

Status validate_tree(const FileTree& files) {
  for (const auto& [path, content] : files) {
    const auto bad = [&](const char* why) { return refused("invalid file path: " + excerpt(path) + ": " + why); };
    if (path.empty()) return refused("file name is empty");
    if (path.size() > longest_path) return bad("it is too long");
    if (path.front() == '/') return bad("it must be relative to the work directory");
    if (path.find('\0') != std::string::npos) return bad("it contains a NUL byte");
    for (std::string_view rest = path; !rest.empty();) {
      const auto end = rest.find('/');
      const std::string_view part = rest.substr(0, end);
      if (part == "..") return bad("it must stay in the work directory");
      if (part.empty() || part == "." || end + 1 == rest.size()) return bad("it has an empty part");
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  }
  return {};
}

Result<std::string> find_main_file(const Language& language, const FileTree& files) {
  std::vector<std::string> candidates;
  for (const auto& [path, content] : files) {
    if (has_extension_of(language, path) && may_hold_main(language, content)) candidates.push_back(path);
  }
  if (files.contains(language.file)) return language.file;
  for (const std::string_view stem : {"main", "Main", "index", "app"}) {
    for (const std::string& extension : language.extensions) {
      const auto fits = [&](const std::string& path) { return base_name(path) == std::string(stem) + extension; };
      if (std::ranges::count_if(candidates, fits) == 1) return *std::ranges::find_if(candidates, fits);
    }
  }
  if (candidates.size() == 1) return candidates.front();
  std::erase_if(candidates, [](const std::string& path) { return path.find('/') != std::string::npos; });
  if (candidates.size() == 1) return candidates.front();
  const std::string wanted = language.class_from == ClassFrom::nothing ? language.file : "Main.java";
  return refused("cannot tell which file contains the program; name it " + wanted);
}

Result<ProgramPlan> plan_program(const Language& language, Program program, const LimitOverrides& profile) {
  CLOCHE_CHECK(validate_tree(program.files));
  std::optional<std::vector<std::string>> command;
  if (!program.command.empty() && program.command != own_command) {
    command = command_argv(program.command);
    if (command->empty() || command->front().empty()) return refused("the command is empty");
  }
  if (command && program.command_alone) {
    return plan_command_alone(language, std::move(program), std::move(*command), profile);
  }
  ProgramPlan plan;
  plan.language = language;
  const bool is_tree = program.source.empty() && !program.files.empty();
  auto main = plan_source(language, program);
  if (main) {
    plan.compile = std::move(main->steps.compile);
    plan.run = std::move(main->steps.run);
    plan.zygote = std::move(main->steps.zygote);
    plan.zygote_argv = std::move(main->steps.zygote_argv);
  } else if (command && language.compile.empty() && is_tree) {
    // A command of the caller's own knows which file it wants.
    plan.run.env = language.env;
    plan.run.limits = language.run_limits;
  } else {
    return fail(std::move(main).error());
  }
  plan.files = std::move(program.files);
  const bool runs_own_output = plan.run.argv.size() == 1 && plan.run.argv.front().starts_with("./");
  if (command) {
    if (runs_own_output && command->front() == usual_output) command->front() = plan.run.argv.front();
    plan.run.argv = std::move(*command);
    plan.zygote.clear();
    plan.owner = CommandOwner::caller;
  } else {
    plan.owner = runs_own_output ? CommandOwner::caller : CommandOwner::language;
  }
  append(plan.run.argv, program.arguments);
  append(plan.zygote_argv, program.arguments);
  const auto limits_of = [&](const StepLimits& asked, const StepLimits& set, const StepLimits& own) {
    return over(asked, over(set, beneath_profile(own, profile)));
  };
  plan.run.limits = limits_of(program.run_limits, language.run_limits_set, plan.run.limits);
  if (plan.compile) {
    plan.compile->limits = limits_of(program.compile_limits, language.compile_limits_set, plan.compile->limits);
  }
  return plan;
}

}  // namespace cloche::runner
