// `cloche volumes`: the volumes of a running service.
#include <unistd.h>

#include "cli/client/run_client.hpp"
#include "cli/command.hpp"
#include "cli/text/clean.hpp"
#include "cli/text/print.hpp"
#include "cli/text/table.hpp"
#include "cli/text/units.hpp"
#include "json/lenient_json.hpp"

namespace cloche::cli {

namespace {

struct VolumesFlags {
  ServerFlags server;
  std::string tenant;
  std::string name;
  std::string size;
  bool json = false;
};

std::string volumes_target(const std::string& tenant) {
  return tenant.empty() ? "/volumes" : "/volumes?tenant_id=" + percent_encoded(tenant);
}

// What sessions do with it.
std::string use_of(const json::object& volume) {
  if (json::number(volume, "writers") > 0) return "written";
  const auto readers = json::number(volume, "readers");
  return readers > 0 ? "read by " + std::to_string(readers) : "";
}

Table volume_table(const json::value& answer) {
  using Align = Table::Align;
  Table table({{"TENANT"}, {"NAME"}, {"SIZE", Align::right}, {"ALLOCATED", Align::right}, {"CREATED"}, {"IN USE"}});
  for (const json::object& each : json::objects(json::find(answer, "volumes"))) {
    const auto bytes = [&](const char* name) {
      return size_text(static_cast<std::uint64_t>(json::number(each, name)));
    };
    table.add({printable(json::text(each, "tenant_id")), printable(json::text(each, "name")), bytes("size"),
               bytes("allocated"), printable(json::text(each, "created")), use_of(each)});
  }
  return table;
}

Task<Result<int>> list_volumes(Service& service, const VolumesFlags& flags) {
  std::string target = volumes_target(flags.tenant);
  CLOCHE_CO_TRY(const json::value answer, co_await service.get(std::move(target)));
  if (flags.json) co_return print_json(answer);
  co_return print_text(volume_table(answer).text(paint_for(STDOUT_FILENO)));
}

Task<Result<int>> create_volume(Service& service, const VolumesFlags& flags) {
  json::object wanted;
  if (!flags.tenant.empty()) wanted["tenant_id"] = flags.tenant;
  wanted["name"] = flags.name;
  wanted["size"] = flags.size;
  json::value body = std::move(wanted);
  std::string target = "/volumes";
  CLOCHE_CO_TRY(const json::value answer, co_await service.post(std::move(target), std::move(body)));
  if (flags.json) co_return print_json(answer);
  co_return print_text("created " + printable(flags.name) + "\n");
}

// The tenant that has it, where none is named.
Task<Result<std::string>> tenant_of(Service& service, const VolumesFlags& flags) {
  if (!flags.tenant.empty()) co_return flags.tenant;
  std::string target = "/volumes";
  CLOCHE_CO_TRY(const json::value answer, co_await service.get(std::move(target)));
  std::vector<std::string> tenants;
  for (const json::object& each : json::objects(json::find(answer, "volumes"))) {
    if (json::text(each, "name") == flags.name) tenants.push_back(json::text(each, "tenant_id"));
  }
  if (tenants.empty()) {
    co_return fail(ErrorCode::not_found,
                   "no volume `" + flags.name + "`; run `cloche volumes list` to see all volumes");
  }
  if (tenants.size() > 1) {
    co_return fail(ErrorCode::invalid_argument,
                   "several tenants have a volume `" + flags.name + "`: choose one with --tenant");
  }
  co_return tenants.front();
}

Task<Result<int>> delete_volume(Service& service, const VolumesFlags& flags) {
  CLOCHE_CO_TRY(const std::string tenant, co_await tenant_of(service, flags));
  std::string target = "/volumes/" + percent_encoded(tenant) + "/" + percent_encoded(flags.name);
  CLOCHE_CO_TRY(const json::value answer, co_await service.remove(std::move(target)));
  if (flags.json) co_return print_json(answer);
  co_return print_text("deleted " + printable(flags.name) + "\n");
}

using VolumesCall = Task<Result<int>> (*)(Service&, const VolumesFlags&);

void finish_command(CLI::App& command, const std::shared_ptr<VolumesFlags>& flags, Action& chosen, VolumesCall call) {
  command.add_flag("--json", flags->json, "Print JSON");
  flags->server.add_to(command);
  command.callback([flags, &chosen, call] {
    chosen = [flags, call] {
      return run_client(flags->server, [flags, call](Service& service) { return call(service, *flags); });
    };
  });
}

}  // namespace

void add_volumes_command(CLI::App& app, Action& chosen) {
  CLI::App* volumes = app.add_subcommand("volumes", "List, create and delete volumes of a running service");
  volumes->require_subcommand(1);

  auto flags = std::make_shared<VolumesFlags>();
  CLI::App* list = volumes->add_subcommand("list", "List your volumes; as an admin, those of all tenants");
  list->add_option("--tenant", flags->tenant, "List only volumes of this tenant");
  finish_command(*list, flags, chosen, list_volumes);

  flags = std::make_shared<VolumesFlags>();
  CLI::App* create = volumes->add_subcommand("create", "Create an empty volume");
  create->add_option("NAME", flags->name, "Its name")->required();
  create->add_option("--size", flags->size, "Its size, such as 512m or 10g; it cannot be changed later")->required();
  add_tenant_flag(*create, flags->tenant);
  finish_command(*create, flags, chosen, create_volume);

  flags = std::make_shared<VolumesFlags>();
  CLI::App* remove = volumes->add_subcommand("delete", "Delete a volume and everything in it");
  remove->add_option("NAME", flags->name, "Which")->required();
  add_tenant_flag(*remove, flags->tenant);
  finish_command(*remove, flags, chosen, delete_volume);
}

}  // namespace cloche::cli
