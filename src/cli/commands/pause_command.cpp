#include "cli/commands/pause_command.hpp"

#include <cstdio>

#include "cli/client/run_client.hpp"
#include "cli/client/session_place.hpp"
#include "cli/text/clean.hpp"
#include "cli/text/print.hpp"
#include "json/json.hpp"

namespace cloche::cli {

namespace {

struct PauseFlags {
  ServerFlags server;
  std::string tenant;
  std::vector<std::string> names;
  std::optional<double> timeout;
  bool json = false;
};

// What is done to each session.
struct Change {
  std::string route;
  std::string done;  // for people
};

Task<Result<json::value>> change_session(Service& service, std::string name, const PauseFlags& flags, Change change) {
  CLOCHE_CO_TRY(const SessionPlace place, co_await find_session(service, name, flags.tenant));
  json::object body;
  if (flags.timeout) body["timeout"] = *flags.timeout;
  auto answer = co_await service.post(place.target() + "/" + change.route, std::move(body));
  co_return answer;
}

// One that cannot be changed does not keep the others from it.
Task<Result<int>> change_sessions(Service& service, const PauseFlags& flags, Change change) {
  std::optional<Error> failure;
  json::array changed;
  for (const std::string& name : flags.names) {
    auto answer = co_await change_session(service, name, flags, change);
    if (!answer) {
      // main reports the last error, with its exit code.
      if (failure) std::fprintf(stderr, "cloche: %s\n", printable(failure->message).c_str());
      failure = answer.error().at(name);
    } else if (flags.json) {
      changed.push_back(std::move(*answer));
    } else {
      (void)print_text(change.done + " " + printable(name) + "\n");
    }
  }
  int printed = 0;
  if (flags.json) {
    json::object all;
    all["sessions"] = std::move(changed);
    printed = print_json(all);
  }
  if (failure) co_return fail(*failure);
  co_return printed;
}

CLI::App* add_change(CLI::App& sessions, Action& chosen, const std::shared_ptr<PauseFlags>& flags, Change change,
                     const std::string& help) {
  CLI::App* command = sessions.add_subcommand(change.route, help);
  command->add_option("SESSION", flags->names, "Which")->type_name("SESSION")->required();
  add_tenant_flag(*command, flags->tenant);
  command->add_flag("--json", flags->json, "Print the sessions as JSON");
  flags->server.add_to(*command);
  command->callback([flags, change, &chosen] {
    chosen = [flags, change] {
      return run_client(flags->server,
                        [flags, change](Service& service) { return change_sessions(service, *flags, change); });
    };
  });
  return command;
}

}  // namespace

void add_pause_commands(CLI::App& sessions, Action& chosen) {
  add_change(sessions, chosen, std::make_shared<PauseFlags>(), {"pause", "paused"},
             "Stop all programs of sessions until they are resumed");
  const auto flags = std::make_shared<PauseFlags>();
  CLI::App* resume = add_change(sessions, chosen, flags, {"resume", "resumed"}, "Let paused sessions continue");
  resume->add_option("--timeout", flags->timeout, "Seconds after which the sessions expire (default: never)")
      ->type_name("SECONDS");
}

}  // namespace cloche::cli
