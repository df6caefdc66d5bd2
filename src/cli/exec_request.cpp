#include "cli/exec_request.hpp"

#include <algorithm>

#include "cli/text/shell_quote.hpp"
#include "core/utf8.hpp"

namespace cloche::cli {

namespace {

std::unexpected<Error> refused(std::string why) { return fail(ErrorCode::invalid_argument, std::move(why)); }

Status check_text(const std::string& text, const std::string& what) {
  if (text.find('\0') != text.npos) return refused(what + " must not contain NUL");
  if (!is_utf8(text)) return refused(what + " must be UTF-8 because it is sent as JSON");
  return {};
}

bool is_variable(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && is_letter(name.front()) && std::ranges::all_of(name, fits);
}

}  // namespace

Result<std::string> line_for(const std::vector<std::string>& words) {
  for (const std::string& word : words) CLOCHE_CHECK(check_text(word, "the command"));
  if (words.empty() || words.front().empty()) return refused("no program to run");
  // Quotes do not keep `exec` from taking it for an option of its own.
  if (words.front().starts_with('-')) return refused("a program name must not start with `-`");
  // The program takes the shell's place: its end, signals included, is the run's own.
  return "exec " + quote_words(words);
}

Result<std::string> terminal_line_for(const ExecArguments& args) {
  if (args.words.empty() && args.env.empty() && args.work_dir.empty()) return std::string();
  std::string line;
  for (const auto& [name, value] : args.env) {
    CLOCHE_CHECK(check_text(value, "the environment"));
    line += "export " + name + "=" + quote_word(value) + "; ";
  }
  if (!args.work_dir.empty()) {
    CLOCHE_CHECK(check_text(args.work_dir, "the directory"));
    // With a leading `./` it is not an option, not a variable and not resolved by CDPATH.
    const std::string path = args.work_dir.starts_with('/') ? args.work_dir : "./" + args.work_dir;
    line += "cd " + quote_word(path) + " || exit 126; ";
  }
  if (args.words.empty()) return line + "command -v bash >/dev/null 2>&1 && exec bash -i; exec sh -i";
  CLOCHE_TRY(const std::string program, line_for(args.words));
  return line + program;
}

Result<ExecRequest> plan_exec(const ExecArguments& args) {
  ExecRequest request;
  boost::json::object& body = request.body;
  body["session_id"] = args.session;
  if (!args.tenant.empty()) body["tenant_id"] = args.tenant;
  if (args.language.empty()) {
    request.target = "/bash";
    CLOCHE_TRY(body["command"], line_for(args.words));
  } else {
    request.target = "/execute";
    if (!is_utf8(args.code)) return refused("the code must be UTF-8 because it is sent as JSON");
    body["code"] = args.code;
    body["language"] = args.language;
  }
  if (!is_utf8(args.input)) {
    return refused(
        "stdin must be UTF-8 because it is sent as JSON; copy it with `cloche sessions cp - SESSION:FILE` and read it "
        "there");
  }
  if (!args.input.empty()) body["stdin"] = args.input;
  if (!args.env.empty()) {
    boost::json::object env;
    for (const auto& [name, value] : args.env) {
      CLOCHE_CHECK(check_text(value, "the environment"));
      env[name] = value;
    }
    body["env"] = std::move(env);
  }
  if (!args.work_dir.empty()) body["work_dir"] = args.work_dir;
  if (args.timeout) body["timeout"] = *args.timeout;
  if (args.background) body["background"] = true;
  return request;
}

Result<std::map<std::string, std::string>> parse_env(const std::vector<std::string>& entries, const OwnVariable& own) {
  std::map<std::string, std::string> env;
  for (const std::string& entry : entries) {
    const auto equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    if (!is_variable(name)) return refused("--env takes NAME=VALUE, or NAME to pass on the local value");
    if (equals != entry.npos) {
      env[name] = entry.substr(equals + 1);
      continue;
    }
    const char* value = own(name.c_str());
    if (value == nullptr) return refused("--env " + name + ": no such environment variable");
    env[name] = value;
  }
  return env;
}

}  // namespace cloche::cli
