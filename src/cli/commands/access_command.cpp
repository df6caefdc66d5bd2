// `cloche access`: which tenants may use which profile, secret, rule set and language of a running service, and choose
// a network.
#include <unistd.h>

#include "cli/client/run_client.hpp"
#include "cli/command.hpp"
#include "cli/text/print.hpp"
#include "cli/text/table.hpp"
#include "json/lenient_json.hpp"

namespace cloche::cli {

namespace {

struct AccessFlags {
  ServerFlags server;
  bool json = false;
};

std::string words_in(const json::object& entry, std::string_view name) {
  std::string words;
  for (const std::string& word : json::texts(json::find(entry, name))) words += (words.empty() ? "" : ", ") + word;
  return words;
}

std::string volumes_of(const json::object& entry) {
  std::string all;
  for (const json::object& each : json::objects(json::find(entry, "volumes"))) {
    all += (all.empty() ? "" : ", ") + json::text(each, "tenant_id") + "/" + json::text(each, "name");
  }
  return all;
}

std::string tenants_of(const json::object& entry) {
  if (json::truth(entry, "all_tenants")) return "all";
  const std::string tenants = words_in(entry, "tenants");
  return tenants.empty() ? "none" : tenants;
}

Table access_table(const json::value& answer) {
  Table table({{"KIND"}, {"NAME"}, {"TENANTS"}, {"SECRETS"}, {"MOUNTS"}, {"VOLUMES"}});
  for (const auto& [kind, list] : {std::pair("profile", "profiles"),
                                   {"secret", "secrets"},
                                   {"rule set", "rule_sets"},
                                   {"network", "networks"},
                                   {"language", "languages"}}) {
    for (const json::object& entry : json::objects(json::find(answer, list))) {
      table.add({std::string(kind), json::text(entry, "name"), tenants_of(entry), words_in(entry, "secrets"),
                 words_in(entry, "mounts"), volumes_of(entry)});
    }
  }
  return table;
}

Task<Result<int>> show_access(Service& service, Form form) {
  std::string target = "/v1/sandbox/access";
  CLOCHE_CO_TRY(const json::value access, co_await service.get(std::move(target)));
  if (form == Form::json) co_return print_json(access);
  const std::string text = access_table(access).text(paint_for(STDOUT_FILENO));
  co_return print_text(text);
}

}  // namespace

void add_access_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<AccessFlags>();
  auto* command =
      app.add_subcommand("access", "Show which tenants may use which profile, secret, rule set and language");
  command->add_flag("--json", flags->json, "Print JSON");
  flags->server.add_to(*command);
  command->callback([flags, &chosen] {
    chosen = [flags] {
      return run_client(flags->server,
                        [flags](Service& service) { return show_access(service, form_of(flags->json)); });
    };
  });
}

}  // namespace cloche::cli
