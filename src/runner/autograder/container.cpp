#include "runner/autograder/container.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "core/utf8.hpp"
#include "runner/assets.hpp"
#include "runner/autograder/app_request.hpp"
#include "runner/autograder/command_step.hpp"
#include "runner/autograder/path_below.hpp"
#include "runner/autograder/shell_words.hpp"
#include "runner/judge/excerpt.hpp"
#include "runner/judge/program_plan.hpp"
#include "runner/judge/verdict.hpp"
#include "wire/file_marks.hpp"

namespace cloche::runner {

namespace {

constexpr std::string_view own = "CMD";
// The name of the work directory for clients, whatever it really is.
constexpr std::string_view usual_work_dir = "/app";
// Beyond a command's own limit; then the sandbox is given up.
constexpr std::chrono::seconds beyond_limit{15};
constexpr Bytes keep_output = mib(16);
constexpr Bytes stop_output = mib(64);

Error outside(const std::string& path) {
  return {ErrorCode::invalid_argument, "Path must stay within working directory: " + readable(path, 200)};
}

CommandResponse failed(const Error& error) {
  CommandResponse response;
  response.err = "Command execution failed: " + error.message;
  response.exit_code = -1;
  response.category = Category::system_error;
  response.cause = Cause::lost;
  return response;
}

// Errors that only the caller can fix.
bool is_callers_mistake(const Error& error) { return error.code == ErrorCode::invalid_argument; }

}  // namespace

CommandResponse to_response(Exec::Collected ran, StepKind step, std::chrono::milliseconds timeout) {
  const Verdict verdict = judge_step(step, CommandOwner::caller, ran.outcome);
  CommandResponse response;
  response.category = verdict.category;
  response.cause = verdict.cause;
  response.exit_code = ran.outcome.exit_code;
  response.execution_time = ran.outcome.wall;
  response.truncated = ran.outcome.out.dropped.count > 0 || ran.outcome.err.dropped.count > 0;
  response.out = std::move(ran.out);
  response.err = std::move(ran.err);
  if (verdict.cause == Cause::wall) {
    response.exit_code = timed_out_code;
    response.category = Category::timeout;
  }
  add_forced_end_message(response.err, verdict.cause, ran.outcome, timeout);
  return response;
}

Container::Container(std::shared_ptr<LiveSandbox> sandbox, pool::Binding binding, const LanguageRegistry& languages,
                     std::optional<Language> language, std::uint16_t port)
    : sandbox_(std::move(sandbox)),
      binding_(std::move(binding)),
      compilers_(compilers_of(languages)),
      language_(std::move(language)),
      port_(port) {}

Task<Status> Container::prepare_workdir(FileTree files, Deadline deadline) {
  std::vector<std::pair<std::string, std::string>> places;
  for (const auto& [name, content] : files) {
    auto below = path_below(binding_.work_dir, name);
    if (!below) co_return fail(outside(name));
    places.emplace_back(name, std::move(*below));
  }
  auto there = sandbox_->files();
  for (const auto& [name, below] : places) {
    const bool is_java = below.ends_with(".java");
    std::string content = std::move(files.at(name));
    sources_[below] = is_java ? content : "";
    FilePath place = FilePath::beneath(binding_.work_dir, below);
    WriteOptions how;
    auto written = co_await there.write(std::move(place), std::move(content), how, deadline);
    if (!written) co_return fail(std::move(written).error().at("Error preparing workdir: " + name));
  }
  co_return Status{};
}

Task<Status> Container::inject_assets(std::vector<Asset> assets, Deadline deadline) {
  const auto sandbox = sandbox_;
  auto written = co_await write_assets(*sandbox, assets, deadline);
  co_return written;
}

std::string Container::real_path(const std::string& path) const {
  const bool is_named = path == usual_work_dir || path.starts_with(std::string(usual_work_dir) + "/");
  return is_named ? binding_.work_dir + path.substr(usual_work_dir.size()) : path;
}

std::vector<std::string> Container::own_command() const {
  if (!language_) return {};
  Program program;
  program.files = sources_;
  if (runs_what_it_compiled(*language_)) return {"./a.out"};  // the default output name of compilers
  auto plan = plan_program(*language_, std::move(program));
  if (plan) return plan->run.argv;
  Program unnamed;
  auto usual = plan_program(*language_, std::move(unnamed));
  return usual ? usual->run.argv : std::vector<std::string>();
}

std::vector<std::string> Container::argv_of(const std::string& command) const {
  return command == own ? own_command() : command_argv(command);
}

Task<Result<CommandResponse>> Container::run(std::vector<std::string> argv, std::optional<std::string> input,
                                             CommandOptions options) {
  if (argv.empty() || argv.front().empty()) co_return fail(ErrorCode::invalid_argument, "the command is empty");
  ExecSpec spec;
  spec.argv = argv;
  spec.cwd = real_path(options.work_dir);
  if (language_) spec.env = language_->env;
  spec.wall_limit = options.timeout;
  spec.keep_output = keep_output;
  spec.stop_output = stop_output;
  if (input) {
    spec.stdin_mode = Stdin::bytes;
    spec.input = std::move(*input);
  }
  binding_.apply_to(spec);
  const Deadline guard = Deadline::after(options.timeout + beyond_limit);
  auto ran = co_await sandbox_->run(std::move(spec), guard);
  if (ran) {
    const StepKind step = step_of(compilers_, argv, ran->err);
    co_return to_response(std::move(*ran), step, options.timeout);
  }
  if (is_callers_mistake(ran.error())) co_return fail(std::move(ran).error());
  co_return failed(ran.error());
}

Task<Result<CommandResponse>> Container::run_command(std::string command, CommandOptions options) {
  std::vector<std::string> argv = argv_of(command);
  if (argv.size() > 1 && argv.back() == "&") {
    argv.pop_back();
    auto response = co_await start_in_background(std::move(argv), std::move(options));
    co_return response;
  }
  std::optional<std::string> none;
  auto response = co_await run(std::move(argv), std::move(none), std::move(options));
  co_return response;
}

// An application that requests are made to later. It ends with the lease.
Task<Result<CommandResponse>> Container::start_in_background(std::vector<std::string> argv, CommandOptions options) {
  ExecSpec spec;
  spec.argv = std::move(argv);
  spec.cwd = real_path(options.work_dir);
  if (language_) spec.env = language_->env;
  spec.wall_limit.reset();
  spec.keep_output = keep_output;
  spec.stop_output = stop_output;
  spec.lifetime = Lifetime::background;
  binding_.apply_to(spec);
  const auto sandbox = sandbox_;
  auto started = co_await sandbox->start(std::move(spec), Deadline::after(options.timeout));
  CommandResponse response;
  if (!started) {
    response.err = started.error().message;
    response.exit_code = -1;
    response.category = Category::system_error;
    response.cause = Cause::not_started;
  }
  co_return response;
}

Task<Result<CommandResponse>> Container::run_commands(std::vector<std::string> lines,
                                                      std::optional<std::string> program, CommandOptions options) {
  std::vector<std::string> argv = program ? argv_of(*program) : std::vector<std::string>{"cat"};
  std::optional<std::string> input = input_lines(lines);
  auto response = co_await run(std::move(argv), std::move(input), std::move(options));
  co_return response;
}

Task<Result<ExtractedFile>> Container::extract_file(std::string path, Bytes most, Deadline deadline) {
  const auto below = path_below(binding_.work_dir, real_path(path));
  if (!below) co_return fail(outside(path));
  const auto explained = [&](Error error) {
    if (error.code == ErrorCode::not_found) {
      error.message = "File not found in container: " + readable(path, 200);
    } else if (error.code == ErrorCode::permission_denied && error.message.contains(wire::link_leads_out)) {
      return outside(path);
    }
    return error;
  };
  const auto too_large = [&](std::uint64_t size) {
    return Error{ErrorCode::limit_reached,
                 fmt::format("File exceeds maximum size: {} bytes > {} bytes", size, most.count)};
  };
  auto there = sandbox_->files();
  FilePath place = FilePath::beneath(binding_.work_dir, *below);
  auto entry = co_await there.stat(place, Links::follow, deadline);
  if (!entry) co_return fail(explained(std::move(entry).error()));
  if (entry->type != FileType::regular) {
    co_return fail(ErrorCode::invalid_argument, "Not a regular file: " + readable(path, 200));
  }
  if (entry->size > most.count) co_return fail(too_large(entry->size));
  FileRange whole;
  auto read = co_await there.read(place, whole, most, deadline);
  if (!read) co_return fail(explained(std::move(read).error()));
  if (read->cut) co_return fail(too_large(read->total_size));
  ExtractedFile file;
  file.path = std::move(path);
  file.size = read->bytes.size();
  if (is_utf8(read->bytes)) {
    file.text = read->bytes;
    file.encoding = "utf-8";
  }
  file.content = std::move(read->bytes);
  co_return file;
}

Task<Result<AppResponse>> Container::make_request(AppRequest request) {
  const auto sandbox = sandbox_;
  auto response = co_await send_app_request(*sandbox, std::move(request), port_);
  co_return response;
}

}  // namespace cloche::runner
