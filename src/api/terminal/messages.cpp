#include "api/terminal/messages.hpp"

#include <boost/json/object.hpp>
#include <charconv>
#include <csignal>
#include <optional>

#include "api/errors.hpp"
#include "core/utf8.hpp"
#include "http/server/request/json_body.hpp"
#include "json/json_object.hpp"
#include "json/write_json.hpp"

namespace cloche::api {

namespace {

constexpr std::int64_t most_rows_or_columns = 1000;
constexpr std::size_t longest_command = std::size_t{64} * 1024;

struct NamedSignal {
  std::string_view name;
  int number;
};
// Signals that people send to programs.
constexpr NamedSignal signals[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"KILL", SIGKILL},
                                   {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"TERM", SIGTERM}, {"CONT", SIGCONT},
                                   {"STOP", SIGSTOP}, {"TSTP", SIGTSTP}};

Result<int> signal_in(JsonObject& control) {
  const json::value* found = control.find("signal");
  std::string_view name = found != nullptr && found->is_string() ? std::string_view(found->get_string()) : "";
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const NamedSignal& each : signals) {
    const bool by_number = found != nullptr && found->is_int64() && found->get_int64() == each.number;
    if (by_number || name == each.name) return each.number;
  }
  std::string all;
  for (const NamedSignal& each : signals) all.append(all.empty() ? "" : ", ").append(each.name);
  return fail(ErrorCode::invalid_argument, control.place_of("signal") + " must be one of " + all);
}

Result<wire::SignalTarget> target_in(JsonObject& control) {
  CLOCHE_TRY(const std::string name, control.text("target", "group"));
  if (name == "group") return wire::SignalTarget::group;
  if (name == "program") return wire::SignalTarget::program;
  if (name == "tree") return wire::SignalTarget::tree;
  return fail(ErrorCode::invalid_argument, control.place_of("target") + " must be group, program or tree");
}

Result<std::uint32_t> size_in(const http::Query& query, std::string_view name, std::uint32_t otherwise) {
  const auto text = query.find(name);
  if (!text) return otherwise;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number < 1 || number > most_rows_or_columns) {
    return fail(ErrorCode::invalid_argument, "query: " + std::string(name) + " must be a whole number from 1 to 1000");
  }
  return number;
}

}  // namespace

Result<TerminalControl> read_terminal_control(std::string_view text) {
  CLOCHE_TRY(const json::value value, http::parse_json(text, 4));
  CLOCHE_TRY(JsonObject control, JsonObject::of(value, "the message"));
  CLOCHE_TRY(const std::string type, control.text("type"));
  if (type == "resize") {
    CLOCHE_TRY(const std::int64_t rows, control.number("rows", 1, most_rows_or_columns));
    CLOCHE_TRY(const std::int64_t columns, control.number("cols", 1, most_rows_or_columns));
    CLOCHE_CHECK(control.finish());
    return TerminalResize{{static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(columns)}};
  }
  if (type == "signal") {
    TerminalSignal signal;
    CLOCHE_TRY(signal.number, signal_in(control));
    CLOCHE_TRY(signal.target, target_in(control));
    CLOCHE_CHECK(control.finish());
    return signal;
  }
  return fail(ErrorCode::invalid_argument, R"(the message: type must be "resize" or "signal")");
}

Result<TerminalOptions> read_terminal_options(const http::Query& query) {
  TerminalOptions options;
  for (const auto& [name, value] : query.items()) {
    const bool known = name == "rows" || name == "cols" || name == "command";
    if (!known)
      return fail(ErrorCode::invalid_argument, "query: unknown parameter; known parameters: rows, cols, command");
    if (query.count(name) > 1) return fail(ErrorCode::invalid_argument, "query: " + name + " is given twice");
  }
  CLOCHE_TRY(options.size.rows, size_in(query, "rows", options.size.rows));
  CLOCHE_TRY(options.size.columns, size_in(query, "cols", options.size.columns));
  options.command = query.find("command").value_or("");
  if (options.command.size() > longest_command) return fail(ErrorCode::invalid_argument, "query: command is too long");
  return options;
}

std::string exit_message(const Outcome& outcome, std::string_view reason) {
  json::object message;
  message["type"] = "exit";
  message["exit_code"] = outcome.exit_code;
  message["signal"] = nullptr;
  if (outcome.signal != 0) message["signal"] = outcome.signal;
  message["ending"] = to_string(outcome.ending);
  message["reason"] = to_utf8(reason.empty() ? std::string_view(outcome.reason) : reason);
  return write_json(message);
}

std::string terminal_error_message(const Error& error) {
  const ErrorAnswer answer = answer_for(error.code);
  return terminal_error_message(answer.code,
                                answer.status == 500 ? internal_error_message : std::string_view(error.message));
}

std::string terminal_error_message(std::string_view code, std::string_view words) {
  json::object message;
  message["type"] = "error";
  message["code"] = code;
  message["message"] = to_utf8(words);
  return write_json(message);
}

}  // namespace cloche::api
