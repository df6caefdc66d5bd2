// `cloche run FILE`: one program in one fresh sandbox. Its output and exit code are the program's own.
#include <unistd.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "cli/command.hpp"
#include "cli/engine_flags.hpp"
#include "cli/network_flags.hpp"
#include "cli/outcome_json.hpp"
#include "cli/run_plan.hpp"
#include "cli/stdio.hpp"
#include "cloche/async.hpp"
#include "core/async/first_of.hpp"
#include "core/bytes.hpp"
#include "json/write_json.hpp"
#include "library/async_handles.hpp"
#include "library/private_network.hpp"
#include "library/throwing.hpp"
#include "runner/judge/verdict.hpp"
#include "sandbox/backend_traits.hpp"
#include "sandbox/limits.hpp"

namespace cloche::cli {

namespace {

namespace asio = boost::asio;

constexpr Bytes default_memory = mib(128);
constexpr std::chrono::seconds compile_wall{60};

struct RunFlags {
  EngineFlags engine;
  NetworkFlags network;
  std::string file;
  std::vector<std::string> arguments;
  std::string language;
  std::string stdin_file;
  std::string image;
  std::string runtime = "auto";
  std::string memory;
  double timeout = 10;
  double cpus = 0.5;
  bool cpus_given = false;
  bool json = false;
};

std::string read_source(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw SandboxArgumentError(path + " is a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SandboxNotFoundError("cannot read " + path + ": " + std::strerror(errno));
  return {std::istreambuf_iterator<char>(file), {}};
}

// What is run, and with how much: what the command line does not say is the language's own.
struct Job {
  Language language;
  std::string source;
  Steps steps;
  Bytes memory;
  std::optional<NetworkPolicy> network;
};

Job make_job(const RunFlags& flags) {
  Job job;
  job.language = value_or_throw(find_language(flags.language, flags.file));
  job.source = read_source(flags.file);
  const std::string name = std::filesystem::path(flags.file).filename();
  job.steps = value_or_throw(plan_run(job.language, name, job.source, flags.arguments));
  job.source = with_prefix(job.language, job.source);
  job.memory = flags.memory.empty() ? job.steps.run.limits.memory.value_or(default_memory)
                                    : value_or_throw(parse_bytes(flags.memory));
  job.network = flags.network.network();
  return job;
}

std::string default_image(const Job& job, const BackendTraits& backend) {
  if (backend.images == BackendTraits::Images::templates) return {};
  const char* given = std::getenv(std::string(backend.image_variable).c_str());
  if (given != nullptr && *given != '\0') return given;
  return job.language.image.empty() ? std::string(backend.usual_image) : job.language.image;
}

// The limits of whichever step needs more; before the program runs, memory is set to its own.
SandboxSpec sandbox_spec(const RunFlags& flags, const Job& job) {
  SandboxSpec spec;
  spec.image = flags.image;
  const BackendTraits& backend = traits_of(flags.engine.options().backend);
  if (spec.image.empty() && backend.needs_image) spec.image = default_image(job, backend);
  spec.runtime = flags.runtime;
  spec.egress = job.network && job.network->mode != Network::none;
  spec.limits.memory = job.memory;
  spec.limits.cpus = flags.cpus;
  const auto raise = [&](const StepLimits& limits) {
    spec.limits.pids = std::max(spec.limits.pids, limits.pids.value_or(0));
    spec.limits.file_size = std::max(spec.limits.file_size, limits.file_size.value_or(Bytes{}));
  };
  raise(job.steps.run.limits);
  if (job.steps.compile) {
    raise(job.steps.compile->limits);
    spec.limits.memory = std::max(spec.limits.memory, job.steps.compile->limits.memory.value_or(Bytes{}));
  }
  if (backend.has_sizes_of_image) {
    if (!flags.memory.empty() || flags.cpus_given) {
      throw SandboxArgumentError("--memory and --cpus cannot be set with the backend " + std::string(backend.name) +
                                 ": they are those of the template");
    }
    spec.limits = limits_of_image(spec.limits);
  }
  return spec;
}

// What one run has of the command: where input comes from, where output goes.
struct Ends {
  Ends(const asio::any_io_executor& executor, const std::string& stdin_file)
      : in(open_input(executor, stdin_file)),
        out(Descriptor::own(executor, STDOUT_FILENO)),
        err(Descriptor::own(executor, STDERR_FILENO)) {}
  Descriptor in;
  Descriptor out;
  Descriptor err;
};

struct RunReport {
  std::optional<async::RunResult> compile;
  bool compiled = true;  // false: the outcome is the compiler's
  Outcome outcome;
  std::string out;
  std::string err;
  bool stdout_closed = false;
  std::string sandbox;
  std::string runtime;
};

async::Task<Outcome> relay(async::Exec& exec, const RunFlags& flags, Ends& ends, RunReport& report) {
  for (;;) {
    auto piece = co_await exec.next();
    if (auto* outcome = std::get_if<Outcome>(&piece)) co_return std::move(*outcome);
    const auto& output = std::get<async::Output>(piece);
    const bool is_out = output.stream == Stream::out;
    if (flags.json) {
      (is_out ? report.out : report.err) += output.bytes;
      continue;
    }
    Descriptor& to = is_out ? ends.out : ends.err;
    const bool written = co_await to.write(output.bytes);
    if (!written && is_out && !report.stdout_closed) {
      report.stdout_closed = true;
      exec.stop();
    }
  }
}

// Ends by being cancelled: the program's end is what is waited for.
async::Task<> feed(async::Exec& exec, Ends& ends) {
  for (;;) {
    std::string bytes = co_await ends.in.read();
    if (bytes.empty()) break;
    co_await exec.write_stdin(std::move(bytes));
  }
  exec.close_stdin();
  asio::steady_timer never(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
  co_await never.async_wait(asio::use_awaitable);
}

// True when it compiled; else the compiler's outcome is the run's.
async::Task<bool> compile_in(async::Sandbox& sandbox, const RunFlags& flags, const Job& job, Ends& ends,
                             RunReport& report) {
  const Step& step = *job.steps.compile;
  ExecSpec spec;
  spec.argv = step.argv;
  spec.env = step.env;
  spec.wall_limit = step.limits.wall.value_or(compile_wall);
  spec.keep_output = mib(1);
  spec.stop_output = step.limits.output.value_or(mib(64));
  report.compile = co_await sandbox.run(std::move(spec));
  report.compiled = report.compile->outcome.success();
  report.outcome = report.compile->outcome;
  if (!flags.json) {
    const std::string words = report.compile->out + report.compile->err;
    co_await ends.err.write(words);
  }
  if (!report.compiled) co_return false;
  Limits limits = sandbox.spec().limits;
  const bool can_be_set = !traits_of(flags.engine.options().backend).has_sizes_of_image;
  if (can_be_set && limits.memory != job.memory) {
    limits.memory = job.memory;
    co_await sandbox.set_limits(limits);
  }
  co_return true;
}

async::Task<RunReport> run_in(async::Sandbox& sandbox, const RunFlags& flags, const Job& job,
                              const std::unique_ptr<PrivateNetwork>& network, Ends& ends) {
  RunReport report;
  report.sandbox = sandbox.id();
  report.runtime = sandbox.runtime();
  co_await sandbox.write_file(job.steps.file, job.source);
  if (job.steps.compile) {
    const bool compiled = co_await compile_in(sandbox, flags, job, ends, report);
    if (!compiled) co_return report;
  }
  ExecSpec spec;
  spec.argv = job.steps.run.argv;
  spec.env = job.steps.run.env;
  if (network) spec.env.insert(network->variables().begin(), network->variables().end());
  spec.stdin_mode = Stdin::stream;
  spec.wall_limit = std::chrono::milliseconds(static_cast<long long>(flags.timeout * 1000));
  spec.keep_output = mib(64);
  auto exec = co_await sandbox.start(std::move(spec));
  auto first = co_await first_of(relay(exec, flags, ends, report), feed(exec, ends));
  report.outcome = std::get<0>(std::move(first));
  co_return report;
}

// Whatever happens on the way, the sandbox is gone before this returns.
async::Task<RunReport> run_and_clean_up(async::Engine& engine, const RunFlags& flags, const Job& job, Ends& ends) {
  SandboxSpec spec = sandbox_spec(flags, job);
  auto sandbox = co_await engine.create(std::move(spec));
  std::exception_ptr failure;
  RunReport report;
  std::unique_ptr<PrivateNetwork> network;
  try {
    if (job.network) {
      const auto executor = co_await asio::this_coro::executor;
      network = co_await PrivateNetwork::open(executor, sandbox.impl()->share(), *job.network);
    }
    report = co_await run_in(sandbox, flags, job, network, ends);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  if (network) co_await network->close();
  co_await sandbox.destroy();
  if (failure) std::rethrow_exception(failure);
  co_return report;
}

void print_json(const RunReport& report) {
  boost::json::object json;
  json["outcome"] = to_json(report.outcome);
  const auto step = report.compiled ? runner::StepKind::run : runner::StepKind::compile;
  const auto verdict = runner::judge_step(step, runner::CommandOwner::language, report.outcome);
  json["category"] = std::string(to_string(verdict.category));
  json["cause"] = std::string(to_string(verdict.cause));
  if (report.compile) {
    boost::json::object compile;
    compile["outcome"] = to_json(report.compile->outcome);
    put_bytes(compile, "stdout", report.compile->out);
    put_bytes(compile, "stderr", report.compile->err);
    json["compile"] = std::move(compile);
  }
  put_bytes(json, "stdout", report.out);
  put_bytes(json, "stderr", report.err);
  json["sandbox"] = boost::json::object{{"id", report.sandbox}, {"runtime", report.runtime}};
  std::printf("%s\n", write_json(json).c_str());
}

// An explanation if the exit code is not enough; for a missing tool, what to do about it.
std::string explain(const RunReport& report, const Job& job) {
  if (report.outcome.ending == Ending::not_started) {
    const Step& step = report.compiled ? job.steps.run : *job.steps.compile;
    for (const Tool& tool : job.language.toolchain) {
      if (tool.program == step.argv.front()) return missing_tool(job.language, tool);
    }
  }
  return describe(report.outcome);
}

int run(const RunFlags& flags) {
  // What can be refused without a sandbox is refused first.
  const Job job = make_job(flags);
  asio::io_context io{1};
  Ends ends(io.get_executor(), flags.stdin_file);

  async::Engine engine(io.get_executor(), flags.engine.options());
  std::optional<RunReport> report;
  std::exception_ptr failure;
  int interrupted_by = 0;
  asio::cancellation_signal cancel;
  asio::signal_set signals(io, SIGINT, SIGTERM, SIGHUP);
  signals.async_wait([&](boost::system::error_code error, int number) {
    if (error) return;
    interrupted_by = number;
    cancel.emit(asio::cancellation_type::terminal);
  });
  asio::co_spawn(
      io, [&]() -> async::Task<> { report = co_await run_and_clean_up(engine, flags, job, ends); },
      asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr error) {
        failure = error;
        signals.cancel();
      }));
  io.run();
  io.restart();
  asio::co_spawn(io, [&] { return engine.close(); }, [](std::exception_ptr) {});
  io.run();
  if (interrupted_by != 0) return 128 + interrupted_by;
  if (failure) std::rethrow_exception(failure);
  if (report->stdout_closed) return 128 + SIGPIPE;

  if (flags.json) {
    print_json(*report);
  } else if (const std::string words = explain(*report, job); !words.empty()) {
    std::fprintf(stderr, "cloche: %s: %s\n", flags.file.c_str(), words.c_str());
  }
  return report->outcome.exit_code;
}

}  // namespace

void add_run_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<RunFlags>();
  auto* command = app.add_subcommand("run", "Run a program in a fresh sandbox and exit with its exit code");
  command->add_option("file", flags->file, "Source file")->required()->type_name("FILE");
  command
      ->add_option("arguments", flags->arguments,
                   "Arguments of the program (put -- before arguments that look like flags)")
      ->type_name("FILE");
  command->add_option("--language", flags->language, "Language of the program, if the file name does not show it");
  command
      ->add_option("--stdin", flags->stdin_file,
                   "File to use as stdin, or - for this command's stdin (the default unless it is a terminal)")
      ->type_name("FILE");
  command->add_option("--timeout", flags->timeout, "Time limit in seconds")
      ->check(CLI::Range(0.001, 86'400.0))
      ->capture_default_str();
  command->add_option("--memory", flags->memory,
                      "Memory limit, such as 128m or 1g (default: depends on the language, 128m for most)");
  auto* cpus = command->add_option("--cpus", flags->cpus, "CPU limit in cores")->capture_default_str();
  command->add_option("--image", flags->image,
                      "docker: an image; oci: a root filesystem directory, an OCI layout or a `docker save` archive");
  command->add_option("--runtime", flags->runtime, "Runtime: crun, runc, runsc, or auto for the strongest available")
      ->capture_default_str();
  flags->network.add_to(*command);
  command->add_flag("--json", flags->json, "Print the outcome and the output as JSON");
  flags->engine.add_to(*command);
  command->callback([flags, cpus, &chosen] {
    flags->cpus_given = cpus->count() > 0;
    chosen = [flags] { return run(*flags); };
  });
}

}  // namespace cloche::cli
