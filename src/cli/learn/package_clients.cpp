#include "cli/learn/package_clients.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "config/environment.hpp"
#include "process/capture.hpp"
#include "process/child.hpp"
#include "process/descriptors.hpp"
#include "process/programs.hpp"

namespace cloche::cli {

namespace {

constexpr std::chrono::seconds client_patience{60};
constexpr Bytes most_printed = mib(4);

Result<std::string> output_of(const ClientHost& host, const std::vector<std::string>& command) {
  const auto program = process::find_program(command.front(), host.directories);
  if (!program) return fail(ErrorCode::not_found, command.front() + " is not installed");
  CLOCHE_TRY(process::Pipe out, process::make_pipe());
  CLOCHE_TRY(const UniqueFd errors, process::make_bounded_memory(kib(64)));
  process::Spec spec;
  spec.program = *program;
  spec.argv = command;
  for (const auto& [name, value] : host.environment) spec.environment.push_back(name + "=" + value);
  spec.out = out.write.get();
  spec.err = errors.get();
  spec.parent_death = process::Spec::ParentDeath::is_killed;
  CLOCHE_TRY(process::Child child, process::Child::start(spec));
  out.write.reset();
  process::Captured printed{out.read.get(), most_printed, {}, 0};
  const auto end = process::capture(child, {&printed, 1}, CancelToken(Deadline::after(client_patience)));
  child.kill();
  const process::Ended& ended = child.reap();
  if (!end) return fail(ErrorCode::unavailable, command.front() + ": " + end.error().message);
  if (ended.exit_code() != 0) {
    return fail(ErrorCode::unavailable,
                command.front() + " failed with exit code " + std::to_string(ended.exit_code()));
  }
  return std::move(printed.kept);
}

void add_variable(const ClientHost& host, const std::string& name, Learned& learned) {
  std::string value = config::variable(host.environment, name);
  std::size_t from = 0;
  while ((from = value.find_first_not_of(' ', from)) != value.npos) {
    const std::size_t end = std::min(value.find(' ', from), value.size());
    learned.add_url(value.substr(from, end - from));
    from = end;
  }
}

// pip knows its own index if none is configured.
constexpr const char* usual_index =
    "from pip._internal.models.index import PyPI as index\n"
    "print(index.simple_url)\n"
    "print('https://' + index.file_storage_domain)\n";

Result<Learned> ask_pip(const ClientHost& host) {
  auto config = output_of(host, {"pip", "config", "list"});
  if (!config && config.error().code == ErrorCode::not_found) config = output_of(host, {"pip3", "config", "list"});
  if (!config) return fail(std::move(config).error());
  Learned learned = read_pip_config(*config);
  add_variable(host, "PIP_INDEX_URL", learned);
  add_variable(host, "PIP_EXTRA_INDEX_URL", learned);
  if (!learned.hosts.empty()) {
    learned.notes.emplace_back("if the index refers to files on another host, add that host");
    return learned;
  }
  CLOCHE_TRY(const std::string usual, output_of(host, {"python3", "-c", usual_index}));
  return read_apt_targets(usual);
}

Result<Learned> ask_npm(const ClientHost& host) {
  CLOCHE_TRY(const std::string config, output_of(host, {"npm", "config", "list", "--json"}));
  Learned learned = read_npm_config(config);
  if (!learned.hosts.empty()) return learned;
  CLOCHE_TRY(const std::string registry, output_of(host, {"npm", "config", "get", "registry"}));
  return read_apt_targets(registry);
}

Result<Learned> ask_apt(const ClientHost& host) {
  CLOCHE_TRY(const std::string targets, output_of(host, {"apt-get", "indextargets", "--format", "$(REPO_URI)"}));
  return read_apt_targets(targets);
}

Result<Learned> ask_go(const ClientHost& host) {
  CLOCHE_TRY(const std::string settings, output_of(host, {"go", "env", "GOPROXY", "GOSUMDB"}));
  return read_go_env(settings);
}

// It has no command that prints its configuration: its files are read.
Result<Learned> ask_cargo(const ClientHost& host) {
  CLOCHE_CHECK(output_of(host, {"cargo", "--version"}));
  std::string home = config::variable(host.environment, "CARGO_HOME");
  if (home.empty()) home = config::variable(host.environment, "HOME") + "/.cargo";
  Learned learned;
  for (const char* name : {"/config.toml", "/config"}) {
    std::ifstream file(home + name);
    if (!file) continue;
    learned = read_cargo_config(std::string(std::istreambuf_iterator<char>(file), {}));
    break;
  }
  for (const auto& [name, value] : host.environment) {
    if (name.starts_with("CARGO_REGISTRIES_") && name.ends_with("_INDEX")) learned.add_url(value);
  }
  learned.notes.emplace_back(learned.hosts.empty()
                                 ? "it is configured to use its own registry, whose hosts it does not print: add them"
                                 : "if the index refers to files on another host, add that host");
  return learned;
}

using Ask = Result<Learned> (*)(const ClientHost&);
const std::vector<std::pair<std::string, Ask>>& clients() {
  static const std::vector<std::pair<std::string, Ask>> all{
      {"pip", ask_pip}, {"npm", ask_npm}, {"apt", ask_apt}, {"go", ask_go}, {"cargo", ask_cargo}};
  return all;
}

}  // namespace

ClientHost this_host() { return {process::search_directories(), config::process_environment()}; }

const std::vector<std::string>& known_clients() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, ask] : clients()) all.push_back(name);
    return all;
  }();
  return names;
}

Result<Learned> ask_client(const std::string& client, const ClientHost& host) {
  for (const auto& [name, ask] : clients()) {
    if (name == client) return ask(host);
  }
  return fail(ErrorCode::invalid_argument, "unknown client: " + client);
}

std::vector<egress::Address> look_up(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  std::vector<egress::Address> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_family == AF_INET) {
      std::array<std::uint8_t, 4> bytes{};
      std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(each->ai_addr)->sin_addr, bytes.size());
      addresses.push_back(egress::Address::v4(bytes));
    } else if (each->ai_family == AF_INET6) {
      std::array<std::uint8_t, 16> bytes{};
      std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(each->ai_addr)->sin6_addr, bytes.size());
      addresses.push_back(egress::Address::v6(bytes));
    }
  }
  return addresses;
}

LearnedRules to_rules(const std::map<std::string, Learned>& by_client, const LookUp& look_up_name) {
  LearnedRules rules;
  std::map<LearnedHost, std::string> users;
  for (const auto& [client, learned] : by_client) {
    for (const LearnedHost& host : learned.hosts) users[host] += (users[host].empty() ? "" : ", ") + client;
    for (const std::string& note : learned.notes) rules.notes.push_back(client + ": " + note);
  }
  std::map<LearnedHost, std::string> reserved;  // addresses that are not public, and whose they are
  for (const auto& [host, client] : users) {
    rules.allow.emplace_back(host.rule(), client);
    if (egress::Address::parse(host.host)) continue;
    for (const egress::Address& address : look_up_name(host.host)) {
      const char* use = egress::reserved_use(address);
      if (use != nullptr) reserved.emplace(LearnedHost{address.text(), host.port}, host.host + ", " + use);
    }
  }
  for (const auto& [address, whose] : reserved) rules.allow.emplace_back(address.rule(), "address of " + whose);
  return rules;
}

std::string to_yaml(const std::string& name, const LearnedRules& rules) {
  std::string text = "egress:\n  rules:\n    " + name + ":\n";
  for (const std::string& note : rules.notes) text += "      # " + note + "\n";
  text += rules.allow.empty() ? "      allow: []\n" : "      allow:\n";
  for (const auto& [rule, why] : rules.allow) text += "      - \"" + rule + "\"  # " + why + "\n";
  return text;
}

}  // namespace cloche::cli
