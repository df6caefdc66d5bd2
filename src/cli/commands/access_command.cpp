// `cloche access`: which tenants may use which profile, secret and language of a running service.
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "cli/client/json_fields.hpp"
#include "cli/client/run_client.hpp"
#include "cli/command.hpp"
#include "cli/text/print.hpp"
#include "cli/text/table.hpp"

namespace cloche::cli {

namespace {

namespace json = boost::json;

struct AccessFlags {
  ServerFlags server;
  bool json = false;
};

std::string words_in(const json::object& entry, std::string_view name) {
  std::string words;
  const json::value* found = entry.if_contains(name);
  if (found == nullptr || !found->is_array()) return words;
  for (const json::value& word : found->get_array()) {
    if (word.is_string()) words += (words.empty() ? "" : ", ") + std::string(word.get_string());
  }
  return words;
}

std::string tenants_of(const json::object& entry) {
  if (flag_in(entry, "all_tenants")) return "all";
  const std::string tenants = words_in(entry, "tenants");
  return tenants.empty() ? "none" : tenants;
}

Table access_table(const json::value& answer) {
  Table table({{"KIND"}, {"NAME"}, {"TENANTS"}, {"SECRETS"}, {"MOUNTS"}});
  for (const auto& [kind, list] :
       {std::pair("profile", "profiles"), {"secret", "secrets"}, {"language", "languages"}}) {
    for (const json::object& entry : objects_in(answer, list)) {
      table.add({std::string(kind), text_in(entry, "name"), tenants_of(entry), words_in(entry, "secrets"),
                 words_in(entry, "mounts")});
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
  auto* command = app.add_subcommand("access", "Show which tenants may use which profile, secret and language");
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
