// `cloche egress`: what programs connected to, and rule sets for the package managers of this host.
#include <unistd.h>

#include <cstdio>

#include "cli/client/event_parser.hpp"
#include "cli/client/run_client.hpp"
#include "cli/client/session_place.hpp"
#include "cli/command.hpp"
#include "cli/figures.hpp"
#include "cli/learn/package_clients.hpp"
#include "cli/text/clean.hpp"
#include "cli/text/print.hpp"
#include "cli/text/table.hpp"
#include "cli/text/units.hpp"
#include "cloche/errors.hpp"
#include "egress/policy/rule_set.hpp"
#include "json/lenient_json.hpp"
#include "json/write_json.hpp"

namespace cloche::cli {

namespace {

struct EgressLogFlags {
  ServerFlags server;
  std::string tenant;
  std::string session;
  bool follow = false;
  bool json = false;
};

std::string destination_of(const json::object& event) {
  return json::text(event, "host") + ":" + std::to_string(json::number(event, "port"));
}

// What decided: the request, the rule or the reason.
std::string detail_of(const json::object& event) {
  std::string detail = json::text(event, "method");
  for (const char* name : {"path", "rule", "reason"}) {
    const std::string more = json::text(event, name);
    if (!more.empty()) detail += (detail.empty() ? "" : " ") + more;
  }
  return printable(detail);
}

std::string transferred(const json::object& event, const char* name) {
  if (!event.contains(name)) return "";
  return size_text(static_cast<std::uint64_t>(json::number(event, name)));
}

Table egress_table(const std::vector<json::object>& events) {
  using Align = Table::Align;
  Table table({{"TIME"}, {"OUTCOME"}, {"DESTINATION"}, {"UP", Align::right}, {"DOWN", Align::right}, {"DETAIL"}});
  for (const json::object& event : events) {
    const std::string outcome = json::text(event, "outcome");
    const bool bad = outcome == "denied" || outcome == "failed" || outcome == "over_quota";
    table.add({json::text(event, "time"),
               {outcome, bad ? Colour::bad : Colour::plain},
               printable(destination_of(event)),
               transferred(event, "bytes_up"),
               transferred(event, "bytes_down"),
               detail_of(event)});
  }
  return table;
}

Task<Result<int>> list_egress(Service& service, const SessionPlace& place, Form form) {
  std::string target = place.target() + "/egress";
  CLOCHE_CO_TRY(const json::value answer, co_await service.get(std::move(target)));
  if (form == Form::json) co_return print_json(answer);
  const std::string text = egress_table(json::objects(json::find(answer, "events"))).text(paint_for(STDOUT_FILENO));
  co_return print_text(text);
}

// One line for each event, as it happens.
int print_event(const StreamEvent& event, Form form) {
  const auto told = json::parse_object(event.data);
  if (!told) return 0;
  if (form == Form::json) return print_json(*told);
  const std::string line = json::text(*told, "time") + "  " + json::text(*told, "outcome") + "  " +
                           printable(destination_of(*told)) + "  " + detail_of(*told) + "\n";
  return print_text(line);
}

Task<Result<int>> follow_egress(Service& service, const SessionPlace& place, Form form) {
  http::Request request;
  request.method = "GET";
  request.target = place.target() + "/egress?follow=1";
  EventParser parser;
  int left = 0;
  const http::BodySink sink = [&](std::string_view piece) -> Task<Status> {
    CLOCHE_CO_TRY(const auto events, parser.feed(piece));
    for (const StreamEvent& event : events) {
      if (event.name == "error") {
        const auto told = json::parse_object(event.data);
        co_return fail(ErrorCode::permission_denied,
                       told ? json::text(*told, "message") : "the service ended the stream");
      }
      left = print_event(event, form);
      if (left != 0) co_return fail(ErrorCode::cancelled, "stdout was closed");
    }
    co_return Status{};
  };
  auto followed = co_await service.send(std::move(request), sink, Deadline::never());
  if (left != 0) co_return left;
  if (!followed) co_return fail(std::move(followed).error());
  co_return 0;
}

Task<Result<int>> show_egress(Service& service, const EgressLogFlags& flags) {
  CLOCHE_CO_TRY(const SessionPlace place, co_await find_session(service, flags.session, flags.tenant));
  if (flags.follow) co_return co_await follow_egress(service, place, form_of(flags.json));
  co_return co_await list_egress(service, place, form_of(flags.json));
}

void add_egress_log(CLI::App& egress, Action& chosen) {
  auto flags = std::make_shared<EgressLogFlags>();
  CLI::App* command = egress.add_subcommand("log", "List what the programs of a session connected to, or tried to");
  command->add_option("SESSION", flags->session, "Name of the session")->required()->type_name("SESSION");
  command->add_flag("-f,--follow", flags->follow, "Keep printing events until the session has no network any more");
  command->add_flag("--json", flags->json, "Print JSON; with --follow, one event per line");
  add_tenant_flag(*command, flags->tenant);
  flags->server.add_to(*command);
  command->callback([flags, &chosen] {
    chosen = [flags] {
      return run_client(flags->server, [flags](Service& service) { return show_egress(service, *flags); });
    };
  });
}

struct LearnFlags {
  std::vector<std::string> clients;
  std::string name = "packages";
  bool json = false;
};

json::object to_json(const LearnedRules& rules) {
  json::array allow, notes;
  for (const auto& [rule, why] : rules.allow) allow.emplace_back(rule);
  for (const std::string& note : rules.notes) notes.emplace_back(note);
  json::object object;
  object["allow"] = std::move(allow);
  object["notes"] = std::move(notes);
  return object;
}

int learn(const LearnFlags& flags) {
  if (!egress::is_rule_set_name(flags.name)) {
    throw SandboxArgumentError("--name must be lower-case letters, digits, '_' and '-', at most 64");
  }
  const ClientHost host = this_host();
  std::map<std::string, Learned> by_client;
  for (const std::string& client : flags.clients) {
    auto learned = ask_client(client, host);
    if (learned) {
      by_client[client] = std::move(*learned);
    } else {
      std::fprintf(stderr, "cloche: %s is skipped: %s\n", client.c_str(), printable(learned.error().message).c_str());
    }
  }
  if (by_client.empty()) throw SandboxUnavailableError("none of these clients could be asked");
  const LearnedRules rules = to_rules(by_client, look_up);
  if (flags.json) return print_json(to_json(rules));
  return print_text(to_yaml(flags.name, rules));
}

void add_egress_learn(CLI::App& egress, Action& chosen) {
  auto flags = std::make_shared<LearnFlags>();
  CLI::App* command = egress.add_subcommand(
      "learn", "Ask package managers of this host which hosts they use, and print a rule set for the configuration");
  command->add_option("CLIENT", flags->clients, "pip, npm, apt, go or cargo")
      ->required()
      ->check(CLI::IsMember(known_clients()));
  command->add_option("--name", flags->name, "Name of the rule set")->capture_default_str();
  command->add_flag("--json", flags->json, "Print the rules as JSON");
  command->callback([flags, &chosen] { chosen = [flags] { return learn(*flags); }; });
}

}  // namespace

void add_egress_command(CLI::App& app, Action& chosen) {
  CLI::App* egress = app.add_subcommand("egress", "Show connections of sandboxed programs, and learn rules for them");
  egress->require_subcommand(1);
  add_egress_log(*egress, chosen);
  add_egress_learn(*egress, chosen);
}

}  // namespace cloche::cli
