#include "agent/sudo/command_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

namespace cloche::agent {

namespace {

constexpr const char* help_text =
    "usage: sudo [-EHnks] [-i] [-u user] [VAR=value] [--] command [argument...]\n"
    "\n"
    "Runs a command as root of this sandbox, or as another user. No password is needed.\n"
    "\n"
    "  -E, --preserve-env[=LIST]  keep the environment, or these variables of it\n"
    "  -H, --set-home             set HOME to the home directory of the user (the default)\n"
    "  -i, --login                run a login shell as the user, in the user's home directory\n"
    "  -n, --non-interactive      accepted: nothing is ever asked\n"
    "  -s, --shell                run a shell as the user\n"
    "  -u, --user=USER            run the command as this user, by name or #uid\n"
    "  -k, -K, -v                 accepted: there is no password to remember\n"
    "  -l, --list                 say what is allowed\n";

constexpr std::string_view secure_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/.cloche/bin";

// What a command needs of the caller's environment: its terminal, its language, and the way out of the sandbox.
constexpr std::array kept_names = {"TERM",        "COLORTERM",  "LANG",        "LANGUAGE",     "TZ",       "DISPLAY",
                                   "LS_COLORS",   "http_proxy", "https_proxy", "all_proxy",    "no_proxy", "HTTP_PROXY",
                                   "HTTPS_PROXY", "ALL_PROXY",  "NO_PROXY",    "SSL_CERT_FILE"};

using Variables = std::map<std::string, std::string>;

struct User {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string home;
  std::string shell;
};

std::vector<std::string> split_at(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    const auto end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// By name, or by `#uid`.
std::optional<User> find_user(const std::string& passwd, std::string_view wanted) {
  const auto uid = wanted.starts_with('#') ? number(wanted.substr(1)) : std::nullopt;
  for (const std::string& line : split_at(passwd, '\n')) {
    const auto parts = split_at(line, ':');
    if (parts.size() < 7) continue;
    const auto has_uid = number(parts[2]);
    const auto has_gid = number(parts[3]);
    if (!has_uid || !has_gid || (uid ? has_uid != uid : parts[0] != wanted)) continue;
    return User{parts[0], *has_uid, *has_gid, parts[5], parts[6].empty() ? "/bin/sh" : parts[6]};
  }
  if (wanted == "root" || uid == 0U) return User{"root", 0, 0, "/root", "/bin/sh"};
  return std::nullopt;
}

bool is_assignment(std::string_view text) {
  const auto equals = text.find('=');
  return equals != text.npos && equals > 0 && text.find('/') > equals;
}

// For a shell's -c.
std::string quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '-' || c == '$' || c == '/' || c == '.' || static_cast<unsigned char>(c) >= 0x80;
    if (!plain) out += '\\';
    out += c;
  }
  return out;
}

std::unexpected<SudoExit> wrong(const std::string& why) { return std::unexpected(SudoExit{1, "sudo: " + why + "\n"}); }

struct Options {
  std::string user = "root";
  bool keeps_all = false;
  std::vector<std::string> keeps;
  bool sets_home = false;
  bool is_login = false;
  bool is_shell = false;
  bool is_only_check = false;  // -k, -K, -v without a command
  bool lists = false;
  std::vector<std::string> assignments;
  std::vector<std::string> command;
};

// Options that have no value. False: there is no such option.
bool take_flag(Options& options, std::string_view name) {
  if (name == "-E" || name == "--preserve-env") {
    options.keeps_all = true;
  } else if (name == "-H" || name == "--set-home") {
    options.sets_home = true;
  } else if (name == "-i" || name == "--login") {
    options.is_login = true;
  } else if (name == "-s" || name == "--shell") {
    options.is_shell = true;
  } else if (name == "-k" || name == "-K" || name == "-v" || name == "--reset-timestamp" ||
             name == "--remove-timestamp" || name == "--validate") {
    options.is_only_check = true;
  } else if (name == "-l" || name == "--list") {
    options.lists = true;
  } else {
    return name == "-n" || name == "-S" || name == "-A" || name == "-B" || name == "--non-interactive" ||
           name == "--stdin" || name == "--askpass" || name == "--bell";
  }
  return true;
}

std::expected<Options, SudoExit> read_options(const std::vector<std::string>& args) {
  Options options;
  std::size_t at = 0;
  const auto value_of = [&](std::string_view rest) -> std::optional<std::string> {
    if (!rest.empty()) return std::string(rest);
    if (at + 1 >= args.size()) return std::nullopt;
    return args[++at];
  };
  for (; at < args.size(); ++at) {
    const std::string& arg = args[at];
    if (arg == "--") {
      ++at;
      break;
    }
    if (arg == "-h" || arg == "--help") return std::unexpected(SudoExit{0, help_text});
    if (arg == "-V" || arg == "--version") return std::unexpected(SudoExit{0, "sudo of Cloche\n"});
    if (arg.starts_with("--user=")) {
      options.user = arg.substr(7);
    } else if (arg.starts_with("--preserve-env=")) {
      options.keeps = split_at(std::string_view(arg).substr(15), ',');
    } else if (arg == "--user" || arg == "--prompt") {
      const auto value = value_of({});
      if (!value) return wrong("option '" + arg + "' requires an argument");
      if (arg == "--user") options.user = *value;
    } else if (arg.starts_with("--")) {
      if (!take_flag(options, arg)) return wrong("unknown option '" + arg + "'; see sudo --help");
    } else if (arg.size() > 1 && arg.front() == '-') {
      for (std::size_t i = 1; i < arg.size(); ++i) {
        if (arg[i] == 'u' || arg[i] == 'p') {
          const auto value = value_of(std::string_view(arg).substr(i + 1));
          if (!value) return wrong(std::string("option '-") + arg[i] + "' requires an argument");
          if (arg[i] == 'u') options.user = *value;
          break;
        }
        if (!take_flag(options, std::string("-") + arg[i]))
          return wrong(std::string("unknown option '-") + arg[i] + "'; see sudo --help");
      }
    } else if (is_assignment(arg)) {
      options.assignments.push_back(arg);
    } else {
      break;
    }
  }
  for (; at < args.size() && options.command.empty() && is_assignment(args[at]); ++at)
    options.assignments.push_back(args[at]);
  options.command.assign(args.begin() + static_cast<std::ptrdiff_t>(std::min(at, args.size())), args.end());
  return options;
}

Variables to_map(const std::vector<std::string>& env) {
  Variables all;
  for (const std::string& entry : env) {
    if (const auto equals = entry.find('='); equals != entry.npos && equals > 0)
      all.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return all;
}

Variables environment(const Options& options, const User& user, const SudoCaller& caller) {
  const Variables had = to_map(caller.env);
  Variables env;
  if (options.keeps_all && !options.is_login) env = had;
  const auto keep = [&](const std::string& name) {
    if (const auto found = had.find(name); found != had.end()) env[name] = found->second;
  };
  for (const char* name : kept_names) keep(name);
  for (const auto& [name, value] : had) {
    if (name.starts_with("LC_")) env[name] = value;
  }
  for (const std::string& name : options.keeps) keep(name);
  env["PATH"] = secure_path;
  const bool keeps_home = (options.keeps_all || std::ranges::find(options.keeps, "HOME") != options.keeps.end()) &&
                          !options.sets_home && !options.is_login && had.contains("HOME");
  if (!keeps_home) env["HOME"] = user.home;
  env["USER"] = env["LOGNAME"] = user.name;
  env["SHELL"] = user.shell;
  const auto called_by = find_user(caller.passwd, "#" + std::to_string(caller.uid));
  env["SUDO_USER"] = called_by ? called_by->name : "#" + std::to_string(caller.uid);
  env["SUDO_UID"] = std::to_string(caller.uid);
  env["SUDO_GID"] = std::to_string(caller.gid);
  std::string line;
  for (const std::string& word : options.command) line.append(line.empty() ? "" : " ").append(word);
  env["SUDO_COMMAND"] = line.empty() ? user.shell : line.substr(0, 4096);
  for (const std::string& entry : options.assignments)
    env[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
  return env;
}

}  // namespace

std::expected<SudoRequest, SudoExit> read_sudo_command(const std::vector<std::string>& args, const SudoCaller& caller) {
  auto options = read_options(args);
  if (!options) return std::unexpected(std::move(options).error());
  const auto user = find_user(caller.passwd, options->user);
  if (!user) return wrong("unknown user " + options->user);
  if (options->lists)
    return std::unexpected(SudoExit{0, "Any command is allowed as any user: (ALL : ALL) NOPASSWD: ALL\n"});
  const bool wants_shell = options->is_login || options->is_shell;
  if (options->command.empty() && !wants_shell) {
    if (options->is_only_check) return std::unexpected(SudoExit{0, {}});
    return std::unexpected(SudoExit{1, help_text});
  }
  SudoRequest request;
  request.uid = user->uid;
  request.gid = user->gid;
  if (wants_shell) {
    const Variables had = to_map(caller.env);
    const auto chosen = had.find("SHELL");
    const std::string shell = options->is_login || chosen == had.end() ? user->shell : chosen->second;
    const auto slash = shell.rfind('/');
    request.program = shell;
    request.argv = {options->is_login ? "-" + shell.substr(slash == shell.npos ? 0 : slash + 1) : shell};
    if (!options->command.empty()) {
      std::string line;
      for (const std::string& word : options->command) line.append(line.empty() ? "" : " ").append(quoted(word));
      request.argv.insert(request.argv.end(), {"-c", line});
    }
    if (options->is_login) request.directory = user->home;
  } else {
    request.argv = options->command;
  }
  for (const auto& [name, value] : environment(*options, *user, caller)) request.env.push_back(name + "=" + value);
  return request;
}

}  // namespace cloche::agent
