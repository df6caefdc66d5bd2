// `cloche token`: makes, lists and revokes the service's own tokens. A running service sees the change within a second.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdio>
#include <memory>

#include "auth/tokens/token_file.hpp"
#include "cli/command.hpp"
#include "cli/token_expiry.hpp"
#include "core/utc_time.hpp"
#include "json/write_json.hpp"
#include "library/throwing.hpp"
#include "server/access.hpp"

namespace cloche::cli {

namespace {

struct TokenFlags {
  std::string config;
  std::string state_dir;
  std::string tenant;
  std::string role = "user";
  std::string expires;
  std::string note;
  std::string id;
  bool e2b = false;
  bool json = false;

  void add_place_to(CLI::App& command) {
    command.add_option("--config", config, "Configuration file (default: $CLOCHE_CONFIG, or /etc/cloche/cloche.yml)")
        ->type_name("FILE");
    command.add_option("--state-dir", state_dir, "Directory of the token file, unless server.tokens is set")
        ->type_name("DIR");
    command.add_flag("--json", json, "Print JSON");
  }
};

config::Config config_of(const TokenFlags& flags) {
  config::Environment environment = config::process_environment();
  if (!flags.state_dir.empty()) environment["CLOCHE_STATE_DIR"] = flags.state_dir;
  return value_or_throw(config::read_config(flags.config, environment));
}

auth::TokenFile file_of(const TokenFlags& flags) { return auth::TokenFile(server::token_file_of(config_of(flags))); }

// Never the hash: it is of no use to people, and belongs in its file alone.
boost::json::object to_json(const auth::TokenRecord& record) {
  boost::json::object json;
  json["id"] = record.id;
  json["tenant"] = record.tenant;
  json["role"] = auth::to_string(record.role);
  json["created"] = to_utc_text(record.created);
  if (record.expires) json["expires"] = to_utc_text(*record.expires);
  if (!record.note.empty()) json["note"] = record.note;
  return json;
}

void print(const boost::json::value& json) { std::printf("%s\n", write_json(json).c_str()); }

int create_token(const TokenFlags& flags) {
  const config::Config config = config_of(flags);
  auth::TokenRequest request;
  request.tenant = flags.tenant;
  request.role = auth::parse_role(flags.role).value_or(auth::Role::user);
  request.note = flags.note;
  if (!flags.expires.empty()) request.expires = value_or_throw(parse_expiry(flags.expires, Clocks().wall()));
  value_or_throw(server::prepare_token_dir(config));
  auth::TokenFile file(server::token_file_of(config));
  auth::NewToken made = value_or_throw(file.create(request));
  if (flags.e2b) made.text = auth::parse_token(made.text)->e2b_key();
  if (flags.json) {
    boost::json::object json = to_json(made.record);
    json["token"] = made.text;
    print(json);
  } else {
    // The token alone on stdout, so that a shell can take it.
    std::printf("%s\n", made.text.c_str());
  }
  if (std::fflush(stdout) != 0) {
    value_or_throw(file.revoke(made.record.id));
    throw SandboxError("the token could not be printed and was revoked");
  }
  if (!flags.json) {
    std::fprintf(stderr, "cloche: token %s of tenant %s, %s; it is shown only once. Its hash is in %s\n",
                 made.record.id.c_str(), made.record.tenant.c_str(), flags.role.c_str(), file.path().c_str());
  }
  return 0;
}

int list_tokens(const TokenFlags& flags) {
  const auto records = value_or_throw(file_of(flags).list());
  if (flags.json) {
    boost::json::array all;
    for (const auth::TokenRecord& record : records) all.push_back(to_json(record));
    print(all);
    return 0;
  }
  const WallTime now = Clocks().wall();
  for (const auth::TokenRecord& record : records) {
    std::string expiry = "does not expire";
    if (record.expires) expiry = (*record.expires <= now ? "expired " : "until ") + to_utc_text(*record.expires);
    std::printf("%s  %-16s %-5s  %s  %-26s  %s\n", record.id.c_str(), record.tenant.c_str(),
                std::string(auth::to_string(record.role)).c_str(), to_utc_text(record.created).c_str(), expiry.c_str(),
                record.note.c_str());
  }
  return 0;
}

int revoke_token(const TokenFlags& flags) {
  if (!auth::is_token_id(flags.id)) {
    // A whole token given here is in the shell's history; it is not repeated.
    throw SandboxArgumentError(
        "give the id of the token, the 16 digits after `cloche_` or `e2b_`; `cloche token list` shows it");
  }
  const auth::TokenRecord gone = value_or_throw(file_of(flags).revoke(flags.id));
  if (flags.json) {
    print(to_json(gone));
  } else {
    std::printf("revoked %s of tenant %s\n", gone.id.c_str(), gone.tenant.c_str());
  }
  return 0;
}

using Work = int (*)(const TokenFlags&);

std::pair<CLI::App*, std::shared_ptr<TokenFlags>> add(CLI::App& token, const char* name, const char* what, Work work,
                                                      Action& chosen) {
  auto flags = std::make_shared<TokenFlags>();
  CLI::App* command = token.add_subcommand(name, what);
  flags->add_place_to(*command);
  command->callback([flags, work, &chosen] { chosen = [flags, work] { return work(*flags); }; });
  return {command, flags};
}

}  // namespace

void add_token_command(CLI::App& app, Action& chosen) {
  CLI::App* token = app.add_subcommand("token", "Create, list and revoke tokens of the service");
  token->require_subcommand(1);
  const auto [create, made] =
      add(*token, "create", "Create a token and print it; it cannot be shown again", &create_token, chosen);
  create->add_option("--tenant", made->tenant, "Tenant of the token")->required();
  create->add_option("--role", made->role, "Role: user, or admin of all tenants")
      ->check(CLI::IsMember({"user", "admin"}))
      ->capture_default_str();
  create->add_option("--expires", made->expires,
                     "Expiry: a duration such as 12h or 30d, or a time such as 2031-05-17T09:30:00Z (default: never)");
  create->add_option("--note", made->note, "Note about the purpose of the token");
  create->add_flag("--e2b", made->e2b, "Print it in the form that clients of E2B accept as their API key");
  add(*token, "list", "List tokens, without their secrets", &list_tokens, chosen);
  const auto [revoke, gone] = add(*token, "revoke", "Revoke a token", &revoke_token, chosen);
  revoke->add_option("ID", gone->id, "Id of the token, as shown by `cloche token list`")->required();
}

}  // namespace cloche::cli
