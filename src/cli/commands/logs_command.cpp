// `cloche logs SESSION [RUN]`: the runs of a session, or what one of them printed.
#include <unistd.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <csignal>

#include "cli/client/run_client.hpp"
#include "cli/client/run_stream.hpp"
#include "cli/command.hpp"
#include "cli/exec_live.hpp"
#include "cli/figures.hpp"
#include "cli/stdio.hpp"
#include "cli/text/clean.hpp"
#include "cli/text/print.hpp"
#include "cli/text/units.hpp"
#include "cloche/errors.hpp"
#include "json/lenient_json.hpp"
#include "json/write_json.hpp"

namespace cloche::cli {

namespace {

constexpr std::size_t longest_text = 60;

struct LogsFlags {
  ServerFlags server;
  std::string tenant;
  std::string session;
  std::string run;
  bool follow = false;
  bool json = false;
};

Table run_table(const json::value& answer) {
  using Align = Table::Align;
  Table table({{"RUN"},
               {"STATE"},
               {"KIND"},
               {"AGE", Align::right},
               {"STDOUT", Align::right},
               {"STDERR", Align::right},
               {"LANGUAGE"},
               {"TEXT"}});
  const auto now = wall_clock();
  for (const json::object& run : json::objects(json::find(answer, "runs"))) {
    const std::string state = json::text(run, "state");
    table.add({json::text(run, "run_id"),
               {state, state == "running" ? Colour::good : Colour::plain},
               std::string(json::truth(run, "background") ? "background" : "foreground"),
               age_text(json::text(run, "started"), now),
               size_text(static_cast<std::uint64_t>(json::number(run, "stdout_size"))),
               size_text(static_cast<std::uint64_t>(json::number(run, "stderr_size"))),
               json::text(run, "language"),
               cut_to_width(printable(json::text(run, "text")), longest_text)});
  }
  return table;
}

Task<Result<int>> list_runs(Service& service, const SessionPlace& place, Form form) {
  std::string target = place.target() + "/runs";
  CLOCHE_CO_TRY(const json::value answer, co_await service.get(std::move(target)));
  if (form == Form::json) co_return print_json(answer);
  co_return print_text(run_table(answer).text(paint_for(STDOUT_FILENO)));
}

// Follows the run to its end. Leaving does not affect the run.
Task<Result<int>> follow_to_end(Service& service, const RunPlace& place, Form form) {
  const auto executor = co_await asio::this_coro::executor;
  Descriptor out = Descriptor::own(executor, STDOUT_FILENO);
  Descriptor err = Descriptor::own(executor, STDERR_FILENO);
  int left = 0;
  RunFollower follower;
  if (form == Form::json) {
    follower.happened = [&left](std::string name, json::object data) -> Task<Status> {
      json::object line;
      line["event"] = name;
      for (auto& [key, value] : data) line[key] = std::move(value);
      left = print_json(line);
      if (left != 0) co_return fail(ErrorCode::cancelled, "stdout was closed");
      co_return Status{};
    };
  } else {
    follower.printed = [&](Lane lane, std::string bytes) -> Task<Status> {
      Descriptor& to = lane == Lane::out ? out : err;
      const bool written = co_await to.write(bytes);
      if (written || lane == Lane::err) co_return Status{};
      left = 128 + SIGPIPE;
      co_return fail(ErrorCode::cancelled, "stdout was closed");
    };
  }
  http::Request request = events_request(place);
  auto ended = co_await follow_run(service, std::move(request), std::move(follower));
  if (left != 0) co_return left;
  // Its last line says it.
  if (form == Form::json && (ended || ended.error().code == ErrorCode::cancelled)) co_return 0;
  if (!ended) co_return fail(std::move(ended).error().at("the run"));
  explain_result(*ended);
  co_return 0;
}

// One stream of a running run, up to now.
Task<Result<std::string>> output_of(Service& service, const RunPlace& place, const char* stream) {
  std::string all;
  for (;;) {
    std::string target = place.target() + "/output?stream=" + std::string(stream) +
                         "&limit=1048576&offset=" + std::to_string(all.size());
    CLOCHE_CO_TRY(const json::value answer, co_await service.get(std::move(target)));
    if (!answer.is_object())
      co_return fail(ErrorCode::protocol, "the service sent a response that is not a JSON object");
    const std::string piece = json::bytes(answer.get_object(), "content");
    all += piece;
    if (piece.empty() || all.size() >= static_cast<std::uint64_t>(json::number(answer.get_object(), "size")))
      co_return all;
  }
}

Task<Result<int>> show_so_far(Service& service, const RunPlace& place) {
  CLOCHE_CO_TRY(const std::string out, co_await output_of(service, place, "stdout"));
  CLOCHE_CO_TRY(const std::string err, co_await output_of(service, place, "stderr"));
  const int printed = print_text(out);
  std::fwrite(err.data(), 1, err.size(), stderr);
  co_return printed;
}

Task<Result<int>> show_state(Service& service, const RunPlace& place, json::object run) {
  if (json::text(run, "state") == "running") {
    CLOCHE_CO_TRY(const std::string out, co_await output_of(service, place, "stdout"));
    CLOCHE_CO_TRY(const std::string err, co_await output_of(service, place, "stderr"));
    put_bytes(run, "stdout", out);
    put_bytes(run, "stderr", err);
  }
  co_return print_json(run);
}

Task<Result<int>> show_logs(Service& service, const LogsFlags& flags) {
  CLOCHE_CO_TRY(const SessionPlace session, co_await find_session(service, flags.session, flags.tenant));
  if (flags.run.empty()) co_return co_await list_runs(service, session, form_of(flags.json));
  RunPlace place;
  place.session = session;
  place.run = flags.run;
  std::string target = place.target();
  auto found = co_await service.get(std::move(target));
  if (!found && found.error().code == ErrorCode::not_found) {
    co_return fail(ErrorCode::not_found, "no run `" + flags.run + "` in this session; run `cloche logs " +
                                             flags.session + "` to see all runs");
  }
  if (!found) co_return fail(std::move(found).error());
  if (!found->is_object()) co_return fail(ErrorCode::protocol, "the service sent a response that is not a JSON object");
  if (flags.follow) co_return co_await follow_to_end(service, place, form_of(flags.json));
  json::object run = std::move(found->get_object());
  const bool is_running = json::text(run, "state") == "running";
  if (flags.json) co_return co_await show_state(service, place, std::move(run));
  // For a run that has ended, both streams come in the order in which they were printed.
  if (is_running) co_return co_await show_so_far(service, place);
  co_return co_await follow_to_end(service, place, Form::for_people);
}

}  // namespace

void add_logs_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<LogsFlags>();
  auto* command = app.add_subcommand("logs", "List the runs of a session, or print the output of one of them");
  command->add_option("SESSION", flags->session, "Name of the session")->required()->type_name("SESSION");
  command->add_option("RUN", flags->run, "Id of a run, as printed by `cloche exec -d`");
  auto* follow = command->add_flag("-f,--follow", flags->follow, "Keep printing output until the run ends");
  command->add_flag("--json", flags->json, "Print JSON; with --follow, one event per line");
  add_tenant_flag(*command, flags->tenant);
  flags->server.add_to(*command);
  command->callback([flags, follow, &chosen] {
    chosen = [flags, follow] {
      if (follow->count() > 0 && flags->run.empty()) throw SandboxArgumentError("--follow requires a run id");
      return run_client(flags->server, [flags](Service& service) { return show_logs(service, *flags); });
    };
  });
}

}  // namespace cloche::cli
