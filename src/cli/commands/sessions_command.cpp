// `cloche sessions`: lists the sessions of a running service, ends them, and copies files in and out.
#include <unistd.h>

#include <cstdio>

#include "cli/client/run_client.hpp"
#include "cli/client/session_place.hpp"
#include "cli/command.hpp"
#include "cli/commands/copy_command.hpp"
#include "cli/commands/pause_command.hpp"
#include "cli/commands/snapshots_command.hpp"
#include "cli/figures.hpp"
#include "cli/text/clean.hpp"
#include "cli/text/print.hpp"
#include "json/json.hpp"
#include "library/throwing.hpp"

namespace cloche::cli {

namespace {

struct SessionsFlags {
  ServerFlags server;
  std::string tenant;
  std::vector<std::string> names;
  std::string mode = "cut";
  bool all = false;
  bool json = false;
};

std::string list_target(const std::string& tenant) {
  return tenant.empty() ? "/sessions" : "/sessions?tenant_id=" + percent_encoded(tenant);
}

Task<Result<int>> list_sessions(Service& service, const SessionsFlags& flags) {
  std::string target = list_target(flags.tenant);
  CLOCHE_CO_TRY(const json::value answer, co_await service.get(std::move(target)));
  if (flags.json) co_return print_json(answer);
  const Table table = session_table(read_sessions(answer), wall_clock());
  co_return print_text(table.text(paint_for(STDOUT_FILENO)));
}

Task<Result<std::vector<SessionPlace>>> all_sessions(Service& service, const std::string& tenant) {
  std::string target = list_target(tenant);
  CLOCHE_CO_TRY(const json::value answer, co_await service.get(std::move(target)));
  std::vector<SessionPlace> places;
  for (const SessionFigures& each : read_sessions(answer)) {
    SessionPlace place;
    place.tenant = each.tenant;
    place.session = each.session;
    places.push_back(std::move(place));
  }
  co_return places;
}

class Kill {
 public:
  Kill(Service& service, const SessionsFlags& flags) : service_(service), flags_(flags) {}

  // One that cannot be ended does not keep the others from it.
  Task<Result<int>> run() {
    if (flags_.all) {
      CLOCHE_CO_TRY(const auto places, co_await all_sessions(service_, flags_.tenant));
      for (const SessionPlace& place : places) co_await end(place);
    }
    for (const std::string& name : flags_.names) {
      auto place = co_await find_session(service_, name, flags_.tenant);
      if (place) {
        co_await end(*place);
      } else {
        complain(name, place.error());
      }
    }
    int printed = 0;
    if (flags_.json) {
      json::object answer;
      answer["ended"] = std::move(ended_);
      printed = print_json(answer);
    }
    if (failure_) co_return fail(*failure_);
    co_return printed;
  }

 private:
  Task<> end(SessionPlace place) {
    std::string target = place.target() + "?mode=" + flags_.mode;
    auto answer = co_await service_.remove(std::move(target));
    if (!answer) {
      // Ended by itself meanwhile: with --all, that is as good.
      if (flags_.all && answer.error().code == ErrorCode::not_found) co_return;
      complain(place.session, answer.error());
      co_return;
    }
    if (flags_.json) {
      ended_.push_back(std::move(*answer));
    } else {
      (void)print_text("ended " + printable(place.session) + "\n");
    }
  }

  // main reports the last error, with its exit code.
  void complain(const std::string& name, const Error& error) {
    if (failure_) std::fprintf(stderr, "cloche: %s\n", printable(failure_->message).c_str());
    failure_ = error.at(name);
  }

  Service& service_;
  const SessionsFlags& flags_;
  json::array ended_;
  std::optional<Error> failure_;
};

Task<Result<int>> kill_sessions(Service& service, const SessionsFlags& flags) {
  Kill kill(service, flags);
  auto killed = co_await kill.run();
  co_return killed;
}

void add_sessions_list(CLI::App& sessions, Action& chosen) {
  auto flags = std::make_shared<SessionsFlags>();
  CLI::App* command = sessions.add_subcommand("list", "List your sessions; as an admin, those of all tenants");
  command->add_flag("--json", flags->json, "Print JSON");
  command->add_option("--tenant", flags->tenant, "List only sessions of this tenant");
  flags->server.add_to(*command);
  command->callback([flags, &chosen] {
    chosen = [flags] {
      return run_client(flags->server, [flags](Service& service) { return list_sessions(service, *flags); });
    };
  });
}

void add_kill_command(CLI::App& sessions, Action& chosen) {
  auto flags = std::make_shared<SessionsFlags>();
  CLI::App* command = sessions.add_subcommand("kill", "End sessions and delete everything in them");
  auto* names = command->add_option("SESSION", flags->names, "Which")->type_name("SESSION");
  command->add_flag("--all", flags->all, "End every session that `cloche sessions list` shows")->excludes(names);
  command->add_option("--mode", flags->mode, "What to do with running calls: cut them off, or wait up to a minute")
      ->check(CLI::IsMember({"cut", "wait"}))
      ->capture_default_str();
  add_tenant_flag(*command, flags->tenant);
  command->add_flag("--json", flags->json, "Print the ended sessions as JSON");
  flags->server.add_to(*command);
  command->callback([flags, &chosen] {
    chosen = [flags] {
      if (flags->names.empty() && !flags->all) throw SandboxArgumentError("name the sessions to end, or use --all");
      return run_client(flags->server, [flags](Service& service) { return kill_sessions(service, *flags); });
    };
  });
}

}  // namespace

void add_sessions_command(CLI::App& app, Action& chosen) {
  CLI::App* sessions =
      app.add_subcommand("sessions", "List, pause, fork and end sessions of a running service, and copy files");
  sessions->require_subcommand(1);
  add_sessions_list(*sessions, chosen);
  add_kill_command(*sessions, chosen);
  add_copy_command(*sessions, chosen);
  add_fork_command(*sessions, chosen);
  add_pause_commands(*sessions, chosen);
}

}  // namespace cloche::cli
