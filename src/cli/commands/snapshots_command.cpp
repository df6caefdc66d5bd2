// `cloche snapshots`, and `cloche sessions fork`: files of sessions that outlive them, and sessions made from them.
#include "cli/commands/snapshots_command.hpp"

#include <unistd.h>

#include "cli/client/run_client.hpp"
#include "cli/client/session_place.hpp"
#include "cli/command.hpp"
#include "cli/text/clean.hpp"
#include "cli/text/print.hpp"
#include "cli/text/table.hpp"
#include "cli/text/units.hpp"
#include "json/lenient_json.hpp"

namespace cloche::cli {

namespace {

struct SnapshotFlags {
  ServerFlags server;
  std::string tenant;
  std::string session;
  std::string name;
  std::vector<std::string> ids;
  std::uint32_t count = 1;
  bool json = false;
};

std::string with_tenant(std::string target, const std::string& tenant) {
  return tenant.empty() ? target : target + "?tenant_id=" + percent_encoded(tenant);
}

Table snapshot_table(const json::value& answer) {
  using Align = Table::Align;
  Table table(
      {{"TENANT"}, {"ID"}, {"NAME"}, {"SESSION"}, {"FILES", Align::right}, {"SIZE", Align::right}, {"CREATED"}});
  for (const json::object& each : json::objects(json::find(answer, "snapshots"))) {
    const auto word = [&](const char* name) { return printable(json::text(each, name)); };
    table.add({word("tenant_id"), word("id"), word("name"), word("session_id"),
               std::to_string(json::number(each, "files")),
               size_text(static_cast<std::uint64_t>(json::number(each, "size"))), word("created")});
  }
  return table;
}

Task<Result<int>> list_snapshots(Service& service, const SnapshotFlags& flags) {
  std::string target = with_tenant("/snapshots", flags.tenant);
  CLOCHE_CO_TRY(const json::value answer, co_await service.get(std::move(target)));
  if (flags.json) co_return print_json(answer);
  co_return print_text(snapshot_table(answer).text(paint_for(STDOUT_FILENO)));
}

Task<Result<int>> create_snapshot(Service& service, const SnapshotFlags& flags) {
  CLOCHE_CO_TRY(const SessionPlace place, co_await find_session(service, flags.session, flags.tenant));
  json::object wanted;
  if (!flags.name.empty()) wanted["name"] = flags.name;
  json::value body = std::move(wanted);
  std::string target = place.target() + "/snapshots";
  CLOCHE_CO_TRY(const json::value answer, co_await service.post(std::move(target), std::move(body)));
  if (flags.json) co_return print_json(answer);
  co_return print_text(printable(json::text(json::find(answer, "id"))) + "\n");
}

Task<Result<int>> remove_snapshots(Service& service, const SnapshotFlags& flags) {
  json::array deleted;
  for (const std::string& each : flags.ids) {
    std::string target = with_tenant("/snapshots/" + percent_encoded(each), flags.tenant);
    auto answer = co_await service.remove(std::move(target));
    if (!answer) co_return fail(std::move(answer).error().at(each));
    if (!flags.json) (void)print_text("deleted " + printable(each) + "\n");
    deleted.push_back(std::move(*answer));
  }
  if (!flags.json) co_return 0;
  json::object all;
  all["deleted"] = std::move(deleted);
  co_return print_json(all);
}

// One that could not be made does not hide the others.
Task<Result<int>> fork_session(Service& service, const SnapshotFlags& flags) {
  CLOCHE_CO_TRY(const SessionPlace place, co_await find_session(service, flags.session, flags.tenant));
  json::object wanted;
  wanted["count"] = flags.ids.empty() ? flags.count : flags.ids.size();
  if (!flags.ids.empty()) {
    json::array ids;
    for (const std::string& each : flags.ids) ids.push_back(json::value(each));
    wanted["ids"] = std::move(ids);
  }
  json::value body = std::move(wanted);
  std::string target = place.target() + "/fork";
  CLOCHE_CO_TRY(const json::value answer, co_await service.post(std::move(target), std::move(body)));
  if (flags.json) (void)print_json(answer);
  std::optional<std::string> failure;
  for (const json::object& each : json::objects(json::find(answer, "forks"))) {
    if (each.contains("error")) {
      failure = json::text(json::find(each.at("error"), "message"));
    } else if (!flags.json) {
      (void)print_text(printable(json::text(json::find(each.at("session"), "session_id"))) + "\n");
    }
  }
  if (failure) co_return fail(ErrorCode::unavailable, "a fork could not be made: " + *failure);
  co_return 0;
}

using SnapshotCall = Task<Result<int>> (*)(Service&, const SnapshotFlags&);

void finish_snapshot_command(CLI::App& command, const std::shared_ptr<SnapshotFlags>& flags, Action& chosen,
                             SnapshotCall call) {
  command.add_flag("--json", flags->json, "Print JSON");
  flags->server.add_to(command);
  command.callback([flags, &chosen, call] {
    chosen = [flags, call] {
      return run_client(flags->server, [flags, call](Service& service) { return call(service, *flags); });
    };
  });
}

}  // namespace

void add_snapshots_command(CLI::App& app, Action& chosen) {
  CLI::App* snapshots = app.add_subcommand("snapshots", "List, create and delete snapshots of sessions' files");
  snapshots->require_subcommand(1);

  auto flags = std::make_shared<SnapshotFlags>();
  CLI::App* list = snapshots->add_subcommand("list", "List your snapshots; as an admin, those of all tenants");
  list->add_option("--tenant", flags->tenant, "List only snapshots of this tenant");
  finish_snapshot_command(*list, flags, chosen, list_snapshots);

  flags = std::make_shared<SnapshotFlags>();
  CLI::App* create = snapshots->add_subcommand("create", "Keep the files of a session, and print the snapshot's id");
  create->add_option("SESSION", flags->session, "Which")->required()->type_name("SESSION");
  create->add_option("--name", flags->name, "A name for the snapshot that no other one of the tenant has");
  add_tenant_flag(*create, flags->tenant);
  finish_snapshot_command(*create, flags, chosen, create_snapshot);

  flags = std::make_shared<SnapshotFlags>();
  CLI::App* remove = snapshots->add_subcommand("rm", "Delete snapshots");
  remove->add_option("SNAPSHOT", flags->ids, "Ids or names")->required()->type_name("SNAPSHOT");
  add_tenant_flag(*remove, flags->tenant);
  finish_snapshot_command(*remove, flags, chosen, remove_snapshots);
}

void add_fork_command(CLI::App& sessions, Action& chosen) {
  auto flags = std::make_shared<SnapshotFlags>();
  CLI::App* command = sessions.add_subcommand("fork", "Create sessions with the files and options of another one");
  command->add_option("SESSION", flags->session, "Which")->required()->type_name("SESSION");
  auto* ids = command->add_option("--id", flags->ids, "Id of a new session; may be repeated (default: random)");
  command->add_option("--count", flags->count, "How many sessions to create, up to 100 (default: 1)")->excludes(ids);
  add_tenant_flag(*command, flags->tenant);
  finish_snapshot_command(*command, flags, chosen, fork_session);
}

}  // namespace cloche::cli
