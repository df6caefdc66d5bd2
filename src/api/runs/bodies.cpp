#include "api/runs/bodies.hpp"

#include <boost/json/array.hpp>
#include <charconv>
#include <csignal>

#include "runner/judge/program_plan.hpp"
#include "session/network_json.hpp"

namespace cloche::api {

namespace {

using session::Code;
using session::ShellLine;

constexpr std::chrono::hours longest_run{1};
constexpr std::chrono::hours longest_background_run{24};
constexpr std::chrono::seconds longest_wait{300};
constexpr std::chrono::seconds usual_wait{30};
constexpr std::uint64_t usual_output = 64 << 10;
constexpr std::uint64_t most_output = 4 << 20;

constexpr ShapeMember run_file_members[] = {{"content", &shapes::text}, {"content_base64", &shapes::text}};
constexpr Shape run_file_shape{.kinds = Shape::text | Shape::object,
                               .wanted = "a string, or an object with content or content_base64",
                               .members = run_file_members,
                               .each = &shapes::anything,
                               .most = 8};
constexpr Shape run_files_shape{
    .kinds = Shape::object, .wanted = "an object that maps paths to content", .each = &run_file_shape};
constexpr ShapeMember artifact_members[] = {
    {"ignore", &shapes::text}, {"include", &shapes::texts}, {"exclude", &shapes::texts}};
constexpr Shape artifacts_shape = shapes::object_of(artifact_members);
constexpr ShapeMember run_members[] = {
    {"stdin_base64", &shapes::text}, {"pipefail", &shapes::flag},   {"artifacts", &artifacts_shape},
    {"code", &shapes::text},         {"command", &shapes::text},    {"language", &shapes::text},
    {"tenant_id", &shapes::text},    {"session_id", &shapes::text}, {"timeout", &shapes::number},
    {"stdin", &shapes::text},        {"env", &shapes::text_map},    {"files", &run_files_shape},
    {"background", &shapes::flag},   {"work_dir", &shapes::text},   {"context", &shapes::text}};

std::unexpected<Error> refused(std::string why) { return fail(ErrorCode::invalid_argument, std::move(why)); }

Result<std::map<std::string, std::string>> read_env(JsonObject& body) {
  std::map<std::string, std::string> env;
  const json::value* found = body.find("env");
  if (found == nullptr) return env;
  if (!found->is_object()) return refused(body.place_of("env") + " must be an object of strings");
  for (const auto& [name, value] : found->get_object()) {
    if (!value.is_string()) return refused(body.place_of("env") + " must be an object of strings");
    const std::string key(name);
    std::string text(value.get_string());
    if (key.empty() || key.find_first_of(std::string_view("=\0", 2)) != key.npos || text.find('\0') != text.npos) {
      return refused(
          body.place_of("env") +
          ": variable names must be non-empty and must not contain '='; names and values must not contain NUL");
    }
    env.emplace(key, std::move(text));
  }
  return env;
}

Result<std::string> read_file(const json::value& value, const std::string& where) {
  if (value.is_string()) return std::string(value.get_string());
  if (!value.is_object()) return refused(where + " must be a string, or an object with content or content_base64");
  CLOCHE_TRY(JsonObject file, JsonObject::of(value, where));
  const bool has_text = file.has("content");
  if (has_text == file.has("content_base64")) return refused(where + " must have either content or content_base64");
  CLOCHE_TRY(std::string content, has_text ? file.text("content") : file.base64("content_base64"));
  CLOCHE_CHECK(file.finish());
  return content;
}

Result<FileTree> read_files(JsonObject& body) {
  FileTree files;
  const json::value* found = body.find("files");
  if (found == nullptr) return files;
  if (!found->is_object()) return refused(body.place_of("files") + " must be an object that maps paths to content");
  for (const auto& [path, value] : found->get_object()) {
    CLOCHE_TRY(files[std::string(path)], read_file(value, body.place_of("files")));
  }
  CLOCHE_CHECK(runner::validate_tree(files));
  return files;
}

Result<std::string> read_input(JsonObject& body) {
  if (!body.has("stdin_base64")) return body.text("stdin", "");
  if (body.has("stdin")) return refused("the body: send stdin or stdin_base64, not both");
  return body.base64("stdin_base64");
}

Result<session::ArtifactChoice> read_artifacts(JsonObject& body) {
  session::ArtifactChoice choice;
  const json::value* found = body.find("artifacts");
  if (found == nullptr) return choice;
  CLOCHE_TRY(JsonObject fields, JsonObject::of(*found, body.place_of("artifacts")));
  if (fields.has("ignore")) {
    CLOCHE_TRY(const std::string ignore, fields.text("ignore"));
    if (ignore != "default" && ignore != "none") {
      return refused(fields.place_of("ignore") + " must be 'default' or 'none'");
    }
    choice.usual = ignore == "none" ? ChangeRules::Usual::told : ChangeRules::Usual::ignored;
  }
  const auto read_patterns = [&](std::string_view name, std::optional<std::vector<std::string>>& into) -> Status {
    if (!fields.has(name)) return {};
    CLOCHE_TRY(std::vector<std::string> patterns, fields.texts(name));
    CLOCHE_CHECK(session::check_artifact_patterns(patterns, fields.place_of(name)));
    into = std::move(patterns);
    return {};
  };
  CLOCHE_CHECK(read_patterns("include", choice.include));
  CLOCHE_CHECK(read_patterns("exclude", choice.exclude));
  CLOCHE_CHECK(fields.finish());
  return choice;
}

// What both bodies have, for code or a line.
Result<RunBody> read_rest(JsonObject& body, std::variant<Code, ShellLine> what) {
  RunBody wanted;
  CLOCHE_TRY(wanted.where, read_session_name(body));
  if (const json::value* network = body.find("network")) {
    CLOCHE_TRY(wanted.network, session::read_network(*network, "network"));
  }
  CLOCHE_TRY(const bool background, body.flag("background", false));
  wanted.lifetime = background ? Lifetime::background : Lifetime::foreground;
  session::RunRequest request;
  if (body.has("timeout")) {
    const std::chrono::milliseconds most = background ? longest_background_run : longest_run;
    CLOCHE_TRY(request.timeout, body.seconds("timeout", most, most));
  }
  CLOCHE_TRY(request.input, read_input(body));
  CLOCHE_TRY(request.artifact_choice, read_artifacts(body));
  CLOCHE_TRY(request.env, read_env(body));
  CLOCHE_TRY(request.files, read_files(body));
  CLOCHE_TRY(request.work_dir, body.text("work_dir", ""));
  CLOCHE_TRY(std::string context, body.text("context", ""));
  CLOCHE_CHECK(body.finish());
  if (context.empty()) {
    request.what = std::move(what);
    wanted.call = std::move(request);
    return wanted;
  }
  if (background) return refused("the body: background is not available in a context");
  if (!request.env.empty() || !request.files.empty() || !request.work_dir.empty()) {
    return refused("the body: env, files and work_dir cannot be set in a context, which keeps its own");
  }
  session::ContextCall call{static_cast<session::RunSettings&&>(request), std::move(context), {}, {}};
  if (auto* code = std::get_if<Code>(&what)) {
    call.language = std::move(code->language);
    call.code = std::move(code->text);
  } else {
    call.language = "bash";
    call.code = std::move(std::get<ShellLine>(what).line);
  }
  wanted.call = std::move(call);
  return wanted;
}

Status check_no_nul(std::string_view text, std::string_view field) {
  if (text.find('\0') == text.npos) return {};
  return refused("the body: " + std::string(field) + " must not contain NUL");
}

Result<std::uint64_t> read_whole(const http::Query& query, std::string_view name, std::uint64_t usual,
                                 std::uint64_t most) {
  const auto text = query.find(name);
  if (!text) return usual;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number > most) {
    return refused("the query: " + std::string(name) + " must be a whole number up to " + std::to_string(most));
  }
  return number;
}

struct RunSignal {
  std::string_view name;
  int number;
};
constexpr RunSignal run_signals[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ABRT", SIGABRT},   {"KILL", SIGKILL},
    {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},   {"CONT", SIGCONT},
    {"STOP", SIGSTOP}, {"TSTP", SIGTSTP}, {"PIPE", SIGPIPE}, {"WINCH", SIGWINCH},
};

}  // namespace

constinit const Shape run_body_shape = shapes::object_of(run_members);

Result<RunBody> read_execute_body(const json::value& value) {
  CLOCHE_TRY(JsonObject body, JsonObject::of(value, "the body"));
  Code code;
  CLOCHE_TRY(code.text, body.text("code"));
  CLOCHE_TRY(code.language, body.text("language", "python"));
  return read_rest(body, std::move(code));
}

Result<RunBody> read_bash_body(const json::value& value) {
  CLOCHE_TRY(JsonObject body, JsonObject::of(value, "the body"));
  ShellLine line;
  CLOCHE_TRY(line.line, body.text("command"));
  CLOCHE_CHECK(check_no_nul(line.line, "command"));
  CLOCHE_TRY(const bool pipefail, body.flag("pipefail", false));
  if (pipefail) line.pipes = ShellLine::Pipes::any_failure;
  CLOCHE_TRY(RunBody wanted, read_rest(body, std::move(line)));
  if (pipefail && std::holds_alternative<session::ContextCall>(wanted.call)) {
    return refused("the body: pipefail cannot be set in a context; run 'set -o pipefail' in it instead");
  }
  return wanted;
}

Result<int> read_signal_body(const json::value& value) {
  CLOCHE_TRY(JsonObject body, JsonObject::of(value, "the body"));
  const json::value* found = body.find("signal");
  CLOCHE_CHECK(body.finish());
  if (found != nullptr && found->is_string()) {
    std::string_view name = found->get_string();
    if (name.starts_with("SIG")) name.remove_prefix(3);
    for (const RunSignal& each : run_signals) {
      if (each.name == name) return each.number;
    }
  } else {
    CLOCHE_TRY(const auto number, body.number("signal", 1, 64));
    return static_cast<int>(number);
  }
  std::string known;
  for (const RunSignal& each : run_signals) known += (known.empty() ? "" : ", ") + std::string(each.name);
  return refused("the body: signal must be a number from 1 to 64, or one of: " + known);
}

Result<std::chrono::milliseconds> read_wait_body(const json::value& value) {
  CLOCHE_TRY(JsonObject body, JsonObject::of(value, "the body"));
  CLOCHE_TRY(const auto timeout, body.seconds("timeout", longest_wait, usual_wait));
  CLOCHE_CHECK(body.finish());
  return timeout;
}

Result<OutputQuery> read_output_query(const http::Query& query) {
  OutputQuery wanted;
  const auto stream = query.find("stream").value_or("stdout");
  if (stream != "stdout" && stream != "stderr") return refused("the query: stream must be 'stdout' or 'stderr'");
  if (stream == "stderr") wanted.stream = Stream::err;
  constexpr std::uint64_t anywhere = std::uint64_t{1} << 40;
  CLOCHE_TRY(wanted.offset, read_whole(query, "offset", 0, anywhere));
  CLOCHE_TRY(wanted.limit, read_whole(query, "limit", usual_output, most_output));
  return wanted;
}

std::string event_id(const EventPlace& place) { return place.run + "-" + std::to_string(place.position); }

Result<EventPlace> parse_event_id(std::string_view text) {
  EventPlace place;
  const auto dash = text.rfind('-');
  const std::string_view number = dash == text.npos ? std::string_view() : text.substr(dash + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), place.position);
  if (dash == text.npos || number.empty() || error != std::errc() || end != number.data() + number.size()) {
    return refused("Last-Event-ID is not a valid event id");
  }
  place.run = std::string(text.substr(0, dash));
  return place;
}

}  // namespace cloche::api
