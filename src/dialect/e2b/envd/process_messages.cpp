#include "dialect/e2b/envd/process_messages.hpp"

#include <array>
#include <csignal>

#include "core/base64.hpp"
#include "core/utf8.hpp"
#include "json/lenient_json.hpp"
#include "json/members.hpp"
#include "json/write_json.hpp"

namespace cloche::dialect::e2b {

using connect::Code;
using connect::ProtoObject;

namespace {

constexpr std::string_view label_prefix = "e2b:";
constexpr std::size_t longest_label = 4096;
constexpr std::size_t longest_tag = 1024;
constexpr std::uint32_t most_rows_or_columns = 10'000;

constexpr std::array signal_names = {connect::EnumName{"SIGNAL_UNSPECIFIED", 0},
                                     connect::EnumName{"SIGNAL_SIGTERM", SIGTERM},
                                     connect::EnumName{"SIGNAL_SIGKILL", SIGKILL}};

// As Go's syscall package describes signals, by number.
constexpr std::array<std::string_view, 32> go_signals = {"",
                                                         "hangup",
                                                         "interrupt",
                                                         "quit",
                                                         "illegal instruction",
                                                         "trace/breakpoint trap",
                                                         "aborted",
                                                         "bus error",
                                                         "floating point exception",
                                                         "killed",
                                                         "user defined signal 1",
                                                         "segmentation fault",
                                                         "user defined signal 2",
                                                         "broken pipe",
                                                         "alarm clock",
                                                         "terminated",
                                                         "stack fault",
                                                         "child exited",
                                                         "continued",
                                                         "stopped (signal)",
                                                         "stopped",
                                                         "stopped (tty input)",
                                                         "stopped (tty output)",
                                                         "urgent I/O condition",
                                                         "CPU time limit exceeded",
                                                         "file size limit exceeded",
                                                         "virtual timer expired",
                                                         "profiling timer expired",
                                                         "window changed",
                                                         "I/O possible",
                                                         "power failure",
                                                         "bad system call"};

std::string go_status(const Outcome& outcome) {
  if (outcome.signal == 0) return "exit status " + std::to_string(outcome.exit_code);
  const auto number = static_cast<std::size_t>(outcome.signal);
  if (number < go_signals.size()) return "signal: " + std::string(go_signals[number]);
  return "signal: signal " + std::to_string(number);
}

json::object event_of(std::string_view kind, json::object content) {
  json::object event;
  event[kind] = std::move(content);
  json::object message;
  message["event"] = std::move(event);
  return message;
}

Result<TerminalSize> size_in(const ProtoObject& pty) {
  TerminalSize size;
  CLOCHE_TRY(const auto given, pty.message("size"));
  if (!given) return size;
  CLOCHE_TRY(size.columns, given->uint32("cols"));
  CLOCHE_TRY(size.rows, given->uint32("rows"));
  if (size.columns > most_rows_or_columns || size.rows > most_rows_or_columns)
    return fail(ErrorCode::invalid_argument, "a terminal has at most 10000 rows and columns");
  return size;
}

Result<ProcessConfig> read_config(const ProtoObject& message) {
  ProcessConfig config;
  CLOCHE_TRY(const auto process, message.message("process"));
  if (!process) return fail(ErrorCode::invalid_argument, "missing process");
  CLOCHE_TRY(config.command, process->text("cmd"));
  CLOCHE_TRY(config.args, process->texts("args"));
  CLOCHE_TRY(config.env, process->text_map("envs"));
  CLOCHE_TRY(config.cwd, process->optional_text("cwd"));
  if (config.command.empty()) return fail(ErrorCode::invalid_argument, "process: cmd is empty");
  return config;
}

}  // namespace

Result<StartRequest> read_start(const ProtoObject& message) {
  StartRequest request;
  CLOCHE_TRY(request.config, read_config(message));
  CLOCHE_TRY(const auto pty, message.message("pty"));
  if (pty) {
    CLOCHE_TRY(request.terminal, size_in(*pty));
  }
  CLOCHE_TRY(request.tag, message.optional_text("tag"));
  if (request.tag && request.tag->size() > longest_tag)
    return fail(ErrorCode::invalid_argument, "the tag is longer than 1024 bytes");
  CLOCHE_TRY(request.has_stdin, message.flag("stdin", true));
  return request;
}

Result<ProcessSelector> read_selector(const ProtoObject& message) {
  CLOCHE_TRY(const auto process, message.message("process"));
  if (!process) return fail(ErrorCode::invalid_argument, "missing process");
  ProcessSelector selector;
  CLOCHE_TRY(const bool has_pid, process->has("pid"));
  CLOCHE_TRY(const bool has_tag, process->has("tag"));
  if (has_pid == has_tag) return fail(ErrorCode::invalid_argument, "process must have a pid or a tag");
  if (has_pid) {
    CLOCHE_TRY(selector.pid, process->uint32("pid"));
  } else {
    CLOCHE_TRY(selector.tag, process->text("tag"));
  }
  return selector;
}

Result<ProcessInput> read_input(const ProtoObject& message) {
  CLOCHE_TRY(const auto given, message.message("input"));
  if (!given) return fail(ErrorCode::invalid_argument, "missing input");
  CLOCHE_TRY(const bool is_terminal, given->has("pty"));
  CLOCHE_TRY(const bool is_stdin, given->has("stdin"));
  if (is_terminal == is_stdin) return fail(ErrorCode::invalid_argument, "input must have stdin or pty");
  ProcessInput input;
  if (is_terminal) input.kind = ProcessInput::Kind::terminal_bytes;
  CLOCHE_TRY(input.bytes, given->bytes(is_terminal ? "pty" : "stdin"));
  return input;
}

connect::Reply<int> read_signal(const ProtoObject& message) {
  CLOCHE_TRY(const int number, message.enumeration("signal", signal_names));
  if (number == SIGTERM || number == SIGKILL) return number;
  return connect::failure(Code::unimplemented, "invalid signal: " + std::to_string(number));
}

Result<TerminalSize> read_size(const ProtoObject& message) {
  CLOCHE_TRY(const auto pty, message.message("pty"));
  if (!pty) return fail(ErrorCode::invalid_argument, "missing pty");
  return size_in(*pty);
}

json::object to_json(const ProcessInfo& info) {
  json::object config;
  config["cmd"] = to_utf8(info.config.command);
  if (!info.config.args.empty()) {
    json::array& args = config["args"].emplace_array();
    for (const std::string& arg : info.config.args) args.emplace_back(to_utf8(arg));
  }
  if (!info.config.env.empty()) {
    json::object& env = config["envs"].emplace_object();
    for (const auto& [name, value] : info.config.env) env[name] = value;
  }
  if (info.config.cwd) config["cwd"] = to_utf8(*info.config.cwd);
  json::object process;
  process["config"] = std::move(config);
  process["pid"] = info.pid;
  if (info.tag) process["tag"] = *info.tag;
  return process;
}

std::string label_of(const ProcessInfo& info) {
  json::object note;
  if (info.tag) note["tag"] = *info.tag;
  if (info.config.cwd) note["cwd"] = *info.config.cwd;
  note["stdin"] = info.has_stdin;
  note["pty"] = info.has_terminal;
  std::string label = std::string(label_prefix) + write_json(note);
  if (label.size() <= longest_label) return label;
  note.erase("cwd");
  return std::string(label_prefix) + write_json(note);
}

std::optional<ProcessInfo> info_of_label(std::string_view label, const std::vector<std::string>& argv,
                                         std::uint32_t pid) {
  if (!label.starts_with(label_prefix)) return std::nullopt;
  const auto note = json::parse_object(label.substr(label_prefix.size()));
  if (!note) return std::nullopt;
  ProcessInfo info;
  info.pid = pid;
  if (!argv.empty()) {
    info.config.command = argv.front();
    info.config.args.assign(argv.begin() + 1, argv.end());
  }
  if (const auto tag = text_member(*note, "tag")) info.tag = *tag;
  if (const auto cwd = text_member(*note, "cwd")) info.config.cwd = *cwd;
  info.has_stdin = flag_member(*note, "stdin").value_or(false);
  info.has_terminal = flag_member(*note, "pty").value_or(false);
  return info;
}

json::object start_event(std::uint32_t pid) {
  json::object start;
  start["pid"] = pid;
  return event_of("start", std::move(start));
}

json::object data_event(std::string_view kind, std::string_view bytes) {
  json::object data;
  data[kind] = encode_base64(bytes);
  return event_of("data", std::move(data));
}

json::object keepalive_event() { return event_of("keepalive", json::object()); }

json::object end_event(const Outcome& outcome) {
  json::object end;
  const bool exited = outcome.signal == 0;
  const int code = exited ? outcome.exit_code : -1;
  if (code != 0) end["exitCode"] = code;
  if (exited) end["exited"] = true;
  const std::string status = go_status(outcome);
  end["status"] = status;
  if (code != 0) end["error"] = status;
  return event_of("end", std::move(end));
}

}  // namespace cloche::dialect::e2b
