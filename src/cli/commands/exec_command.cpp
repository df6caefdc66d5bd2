// `cloche exec SESSION`: a program or code in a session of a running service. Output and exit code are its own.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "cli/client/run_client.hpp"
#include "cli/client/session_network.hpp"
#include "cli/command.hpp"
#include "cli/exec_live.hpp"
#include "cli/exec_terminal.hpp"
#include "cli/network_flags.hpp"
#include "cli/stdio.hpp"
#include "cli/text/print.hpp"
#include "cli/volume_flags.hpp"
#include "core/async/event.hpp"
#include "core/async/first_of.hpp"
#include "json/lenient_json.hpp"
#include "json/write_json.hpp"
#include "library/throwing.hpp"

namespace cloche::cli {

namespace {

// Bodies may have 64 MiB, and JSON makes some bytes longer.
constexpr std::size_t most_input = std::size_t{32} << 20;
constexpr std::chrono::seconds patience_with_input{5};

struct ExecFlags {
  ServerFlags server;
  ExecArguments args;
  NetworkFlags network;
  VolumeFlags volumes;
  std::vector<std::string> env;
  std::string stdin_file;
  double timeout = 0;
  bool has_code = false;
  bool no_stdin = false;
  bool tty = false;
  bool json = false;
};

std::string read_code(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SandboxNotFoundError("cannot read " + path + ": " + std::strerror(errno));
  std::string code(most_input + 1, '\0');
  file.read(code.data(), static_cast<std::streamsize>(code.size()));
  if (file.bad()) throw SandboxNotFoundError("cannot read " + path);
  code.resize(static_cast<std::size_t>(file.gcount()));
  if (code.size() > most_input) throw SandboxArgumentError(path + " is larger than 32 MiB");
  return code;
}

// What only makes sense together, or never does.
ExecArguments arguments_of(const ExecFlags& flags) {
  ExecArguments args = flags.args;
  args.env = value_or_throw(parse_env(flags.env, [](const char* name) { return std::getenv(name); }));
  if (flags.timeout > 0) args.timeout = flags.timeout;
  if (flags.tty && (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)) {
    throw SandboxArgumentError("--tty requires a terminal on stdin and stdout; run the command without it");
  }
  if (flags.has_code && args.language.empty()) args.language = "python";
  if (!args.language.empty() && !flags.has_code) {
    if (args.words.size() != 1) {
      throw SandboxArgumentError(
          "--language requires one source file or -c CODE; to pass arguments, copy the file with "
          "`cloche sessions cp` and run it as a command");
    }
    args.code = read_code(args.words.front());
    args.words.clear();
  }
  if (flags.has_code && !args.words.empty())
    throw SandboxArgumentError("both -c and a file or command are given; give only one");
  if (args.language.empty() && args.words.empty() && !flags.tty) {
    throw SandboxArgumentError("nothing to run; give a command after `--` or code with -c");
  }
  return args;
}

Task<Result<std::string>> read_all(Descriptor& from) {
  std::string all;
  for (;;) {
    std::string piece = co_await from.read();
    if (piece.empty()) co_return all;
    all += piece;
    if (all.size() > most_input) {
      co_return fail(ErrorCode::invalid_argument,
                     "stdin is larger than 32 MiB; copy it with `cloche sessions cp - SESSION:FILE` and read it there");
    }
  }
}

// A user who forgot that stdin is read to its end sees what the command waits for.
Task<Result<std::string>> hint_at_waiting() {
  co_await pause_for(patience_with_input);
  std::fprintf(stderr, "cloche: waiting for the end of stdin; use --no-stdin to send none\n");
  Event never(co_await asio::this_coro::executor);
  for (;;) co_await never.wait();
}

Task<Result<std::string>> read_input(const ExecFlags& flags) {
  if (flags.no_stdin || flags.args.background) co_return std::string();
  const auto executor = co_await asio::this_coro::executor;
  Descriptor from = open_input(executor, flags.stdin_file);
  auto read = co_await first_of(read_all(from), hint_at_waiting());
  if (read.index() == 0) co_return std::get<0>(std::move(read));
  co_return std::get<1>(std::move(read));
}

// The answer as a whole. A service whose client hangs up ends the run.
Task<Result<json::object>> exec_whole(Service& service, ExecRequest wanted) {
  http::Request request;
  request.method = "POST";
  request.target = wanted.target;
  request.fields.emplace_back("Content-Type", "application/json");
  request.body = write_json(wanted.body);
  request.body_limit = mib(64);
  const http::BodySink none;
  CLOCHE_CO_TRY(const http::Response response, co_await service.send(std::move(request), none, Deadline::never()));
  auto answer = json::parse_object(response.body);
  if (!answer) co_return fail(ErrorCode::protocol, service.place() + " sent a response that is not JSON");
  co_return answer;
}

Task<Result<int>> exec_and_print(Service& service, ExecRequest request, Form form) {
  CLOCHE_CO_TRY(const json::object told, co_await exec_whole(service, std::move(request)));
  if (form == Form::json) {
    if (const int failed = print_json(told); failed != 0) co_return failed;
    co_return static_cast<int>(json::number(told, "exit_code"));
  }
  // In the background: an answer with a result is that of a compiler that failed.
  if (!told.contains("exit_code")) co_return print_text(json::text(told, "run_id") + "\n");
  explain_result(told);
  co_return static_cast<int>(json::number(told, "exit_code"));
}

// Before the program runs, and for those that follow it.
Task<Result<int>> change_network(Service& service, const ExecFlags& flags, NetworkPolicy network) {
  CLOCHE_CO_TRY(SessionPlace place, co_await find_or_make_session(service, flags.args.session, flags.args.tenant));
  auto changed = co_await set_network(service, std::move(place), std::move(network));
  if (!changed) co_return fail(std::move(changed).error());
  co_return 0;
}

// A session has its volumes from its start.
Task<Result<int>> make_session(Service& service, const ExecFlags& flags, json::array volumes) {
  auto made = co_await find_or_make_session(service, flags.args.session, flags.args.tenant, std::move(volumes));
  if (!made) co_return fail(std::move(made).error());
  co_return 0;
}

int exec(const ExecFlags& flags) {
  ExecArguments args = arguments_of(flags);
  if (const json::array volumes = flags.volumes.volumes(); !volumes.empty()) {
    const auto make = [&](Service& service) { return make_session(service, flags, volumes); };
    if (const int interrupted = run_client(flags.server, make); interrupted != 0) return interrupted;
  }
  if (const auto network = flags.network.network()) {
    const auto change = [&](Service& service) { return change_network(service, flags, *network); };
    if (const int interrupted = run_client(flags.server, change); interrupted != 0) return interrupted;
  }
  if (flags.tty) {
    const auto work = [&](Service& service) { return exec_on_terminal(service, std::move(args)); };
    return run_client(flags.server, work, OnSignal::leave_alone);
  }
  // All of stdin is read before anything is asked for, and Ctrl-C ends that as it ends any reading.
  const auto read = [&](Service&) -> Task<Result<int>> {
    CLOCHE_CO_TRY(args.input, co_await read_input(flags));
    co_return 0;
  };
  if (const int interrupted = run_client(flags.server, read); interrupted != 0) return interrupted;
  ExecRequest request = value_or_throw(plan_exec(args));
  args = {};
  if (flags.json || flags.args.background) {
    return run_client(flags.server, [&](Service& service) {
      return exec_and_print(service, std::move(request), form_of(flags.json));
    });
  }
  const auto work = [&](Service& service) { return exec_live(service, std::move(request)); };
  return run_client(flags.server, work, OnSignal::leave_alone);
}

}  // namespace

void add_exec_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<ExecFlags>();
  auto* command = app.add_subcommand("exec", "Run a command or code in a session and exit with its exit code");
  command->footer(
      "A session that does not exist is created. Put -- before options of the command itself:\n"
      "  cloche exec demo -- ls -l\n"
      "  cloche exec demo -c 'print(6 * 7)'\n"
      "  cloche exec demo --tty\n"
      "In a terminal, type ~. at the beginning of a line to disconnect.");
  command->add_option("SESSION", flags->args.session, "Name of the session")->required()->type_name("SESSION");
  command->add_option("COMMAND", flags->args.words, "Program and its arguments; with --language, a local source file")
      ->type_name("FILE");
  command->add_option("--language", flags->args.language,
                      "Run code in this language: python (the default with -c), cpp, node, …");
  auto* code = command->add_option("-c,--code", flags->args.code, "Code to run");
  command
      ->add_option("--stdin", flags->stdin_file,
                   "File to use as stdin, or - for this command's stdin (the default unless it is a terminal)")
      ->type_name("FILE");
  auto* no_stdin = command->add_flag("-n,--no-stdin", flags->no_stdin, "Send no stdin");
  no_stdin->excludes("--stdin");
  auto* timeout =
      command->add_option("--timeout", flags->timeout, "Time limit in seconds (default: 120, or 3600 with -d)")
          ->check(CLI::Range(0.001, 86'400.0));
  command
      ->add_option("-e,--env", flags->env,
                   "Set a variable: NAME=VALUE, or NAME to pass on the local value; may be repeated")
      ->allow_extra_args(false);
  command->add_option("-w,--work-dir", flags->args.work_dir, "Working directory, in the workspace");
  auto* background =
      command->add_flag("-d,--background", flags->args.background, "Run in the background and print the run id");
  auto* tty = command->add_flag("-t,--tty", flags->tty, "Run in a terminal; without a command, start a shell");
  auto* json = command->add_flag("--json", flags->json, "Print the outcome and the output as JSON");
  for (CLI::Option* other : {code, timeout, background, json, no_stdin}) tty->excludes(other);
  flags->network.add_to(*command);
  flags->network.add_rule_sets_to(*command);
  flags->volumes.add_to(*command);
  add_tenant_flag(*command, flags->args.tenant);
  flags->server.add_to(*command);
  command->callback([flags, code, &chosen] {
    flags->has_code = code->count() > 0;
    chosen = [flags] { return exec(*flags); };
  });
}

}  // namespace cloche::cli
