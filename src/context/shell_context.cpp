#include "context/shell_context.hpp"

#include "context/bash_driver_script.hpp"
#include "context/end_command_script.hpp"
#include "context/posix_driver_script.hpp"
#include "core/ids.hpp"
#include "sandbox/spec.hpp"

namespace cloche {

namespace {

constexpr int exit_code_after_timeout = 124;
constexpr std::size_t longest_directory = 4000;
// How often processes of a command are searched until none are found.
constexpr int most_sweeps = 10;
constexpr int most_interrupts = 3;
// Makes the shell's driver leave a command; no program has a use for it.
constexpr int leave_signal = 39;
constexpr int no_signal = 0;
// One look takes milliseconds, and seconds in a gVisor without cpu.
constexpr std::chrono::seconds sweep_limit{20};
constexpr std::chrono::seconds input_timeout{30};

ExecSpec bash(ExecSpec spec) {
  spec.argv = {"bash", "--norc", "--noprofile", "-c", bash_driver_script, "bash"};
  return spec;
}

ExecSpec posix_shell(ExecSpec spec) {
  spec.argv = {"/bin/sh", "-c", "eval \"$1\"", "sh", posix_driver_script};
  return spec;
}

}  // namespace

class ShellDialect final : public Dialect {
 public:
  explicit ShellDialect(ShellContextOptions options) : options_(std::move(options)) {}

  std::vector<ExecSpec> programs() const override {
    ExecSpec base = long_lived_exec();
    base.env = options_.env;
    std::vector<ExecSpec> places;
    // The directory of the last command may be gone.
    if (is_clean_absolute_path(directory)) places.push_back(in(base, directory));
    places.push_back(in(base, options_.directory));
    std::vector<ExecSpec> all;
    if (options_.shell == ShellContextOptions::Shell::bash_or_sh) {
      for (const auto& place : places) all.push_back(bash(place));
    }
    for (const auto& place : places) all.push_back(posix_shell(place));
    return all;
  }

  Task<bool> interrupt(LiveSandbox& sandbox, Interpreter& interpreter, int attempt) override {
    if (attempt >= most_interrupts) co_return false;
    const std::string signal = attempt == 0 ? "TERM" : "KILL";
    // A successor that has not come up yet would die by it.
    const int to_shell = interpreter.leaving ? no_signal : leave_signal;
    auto found = co_await end_command(sandbox, interpreter, to_shell, signal);
    co_return found.has_value();
  }
  std::chrono::milliseconds grace() const override { return options_.grace; }

  Task<bool> sweep(LiveSandbox& sandbox, Interpreter& interpreter) override {
    const std::string signal = "KILL";
    for (int round = 0; round < most_sweeps; ++round) {
      auto found = co_await end_command(sandbox, interpreter, no_signal, signal);
      if (!found) co_return false;
      if (*found == 0) co_return true;
    }
    co_return false;
  }
  std::string nothing_request(const std::string& id) const override { return to_driver_line(id, "", ":"); }

  std::string directory;  // of the shell, at the end of the last command

 private:
  static ExecSpec in(ExecSpec spec, const std::string& where) {
    spec.cwd = where;
    return spec;
  }

  // Sends a signal to the processes that the command under way has started, as the sandbox's user; how many there were.
  Task<std::optional<std::uint32_t>> end_command(LiveSandbox& sandbox, Interpreter& interpreter, int to_shell,
                                                 std::string signal) {
    const CommandBegin begin = parse_begin(interpreter.begin);
    ExecSpec spec;
    spec.argv = {"/bin/sh", "-c", end_command_script, "sh", std::to_string(interpreter.pid), std::to_string(to_shell)};
    spec.argv.push_back(std::move(signal));
    spec.argv.push_back(begin.mark);
    for (const std::uint32_t pid : begin.jobs) spec.argv.push_back(std::to_string(pid));
    spec.cwd = "/";
    spec.wall_limit = sweep_limit;
    spec.keep_output = kib(4);
    auto ran = co_await sandbox.run(std::move(spec), Deadline::after(sweep_limit + sweep_limit / 2));
    if (!ran || !ran->outcome.success() || ran->out.empty()) co_return std::nullopt;
    ran->out.pop_back();
    co_return parse_number(ran->out);
  }

  ShellContextOptions options_;
};

ShellContext::ShellContext(Executor executor, LiveSandbox& sandbox, ShellContextOptions options)
    : ShellContext(std::move(executor), sandbox, std::make_unique<ShellDialect>(std::move(options))) {}

ShellContext::ShellContext(Executor executor, LiveSandbox& sandbox, std::unique_ptr<ShellDialect> dialect)
    : sandbox_(sandbox),
      dialect_(dialect.get()),
      core_(executor, sandbox, std::move(dialect), AfterLoss::restart),
      removals_(executor) {}

const std::string& ShellContext::directory() const { return dialect_->directory; }

Task<Result<std::unique_ptr<ShellContext>>> ShellContext::open(LiveSandbox& sandbox, ShellContextOptions options,
                                                               Deadline deadline) {
  const auto executor = co_await asio::this_coro::executor;
  auto context = std::make_unique<ShellContext>(executor, sandbox, std::move(options));
  auto started = co_await context->restart(deadline);
  if (!started) co_return fail(std::move(started).error());
  co_return context;
}

// A command's input, in a file of the sandbox until the command has ended.
class ShellContext::InputFile {
 public:
  explicit InputFile(ShellContext& context) : context_(context) {}
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() {
    if (path_.empty()) return;
    context_.removals_.spawn("remove a command's input", [&sandbox = context_.sandbox_, path = path_]() -> Task<> {
      [[maybe_unused]] auto removed = co_await remove(sandbox, path);
    });
  }

  // Empty if there is none.
  const std::string& path() const { return path_; }

  Task<Status> write(std::string input) {
    path_ = "/tmp/.input-" + random_hex(8);
    auto files = context_.sandbox_.files();
    WriteOptions options;
    options.mode = 0600;
    FilePath place(path_);
    const Deadline deadline = Deadline::after(input_timeout);
    auto written = co_await files.write(std::move(place), std::move(input), options, deadline);
    if (!written) co_return fail(std::move(written).error().at("write the command's input"));
    co_return Status{};
  }

  Task<> remove() {
    if (path_.empty()) co_return;
    auto removed = co_await remove(context_.sandbox_, path_);
    if (removed) path_.clear();
  }

 private:
  static Task<Status> remove(LiveSandbox& sandbox, std::string path) {
    auto files = sandbox.files();
    FilePath place(std::move(path));
    const Deadline deadline = Deadline::after(input_timeout);
    auto removed = co_await files.remove(std::move(place), Recursion::none, Missing::fine, deadline);
    if (!removed) co_return fail(std::move(removed).error());
    co_return Status{};
  }

  ShellContext& context_;
  std::string path_;
};

Task<> ShellContext::close() {
  co_await core_.close();
  co_await removals_.join();
}

Task<Result<CommandResult>> ShellContext::run(CommandRequest request, OutputSink sink, Deadline deadline) {
  if (auto valid = validate(request); !valid) co_return fail(std::move(valid).error());
  InputFile input(*this);
  if (!request.input.empty()) {
    auto written = co_await input.write(std::move(request.input));
    if (!written) co_return fail(std::move(written).error());
  }
  CoreCall call;
  call.wall_limit = request.wall_limit;
  call.caps = request.caps;
  call.sink = std::move(sink);
  call.request = [command = std::move(request.command), path = input.path()](
                     const std::string& id, const Interpreter&) { return to_driver_line(id, path, command); };
  auto called = co_await core_.call(std::move(call), deadline);
  co_await input.remove();
  if (!called) co_return fail(std::move(called).error());
  CommandResult result;
  static_cast<CallResult&>(result) = std::move(*called);
  if (const auto end = parse_end(called->report)) {
    result.exit_code = end->exit_code;
    if (end->directory.size() <= longest_directory) dialect_->directory = end->directory;
  } else {
    result.exit_code = result.interpreter ? result.interpreter->exit_code : 0;
  }
  if (result.ending == ContextEnding::timeout) result.exit_code = exit_code_after_timeout;
  co_return result;
}

}  // namespace cloche
