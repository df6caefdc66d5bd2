/// @file
/// Scripts: Python source that runs in a fresh fork of a harness kept ready in the sandbox, and communicates by events.
/// Data is valid JSON text, exactly as the script wrote it. All other text is UTF-8.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cloche/bytes.hpp"
#include "cloche/outcome.hpp"

namespace cloche {

/// The interpreter that scripts are forked from.
struct ScriptHarness {
  std::string interpreter = "python3";  ///< The interpreter, found in the sandbox's PATH.
  std::vector<std::string> imports;     ///< Modules that are already imported in scripts.
};

/// When a script ends.
enum class ScriptMode {
  plan,         ///< At its first final_result or error. The rest of the script does not run.
  interactive,  ///< When its process ends.
};

/// Limits of what a script may print and send.
struct ScriptCaps {
  Bytes keep_output = kib(256);    ///< Bytes of stdout and of stderr to keep. The rest is counted and dropped.
  Bytes stop_output = mib(16);     ///< The limit of stdout and of stderr. More stops the script.
  std::uint64_t log_lines = 5000;  ///< Printed lines that become events. The rest is counted and dropped.
  Bytes event = mib(1);            ///< The limit of one event.
  Bytes event_bytes = mib(4);      ///< The limit of all events. More stops the script.
  std::uint64_t events = 1000;     ///< The limit of the number of events. More stops the script.
};

/// One script.
struct ScriptRequest {
  std::string source;                  ///< Python source in UTF-8.
  std::string name = "script.py";      ///< The file name in tracebacks.
  ScriptMode mode = ScriptMode::plan;  ///< When the script ends.
  std::string inputs = "null";         ///< JSON text that the script sees as `inputs`.
  /// Environment variables, including secrets. Nothing of it outlives the script.
  std::map<std::string, std::string> env;
  std::chrono::milliseconds wall_limit = std::chrono::seconds(30);  ///< The time limit.
  std::optional<std::chrono::milliseconds> cpu_limit;  ///< The limit of user plus system time. Unset: no limit.
  ScriptCaps caps;                                     ///< Limits of what it may print and send.
};

/// The harness has accepted the script. This is always the first event.
struct ReadyEvent {
  bool operator==(const ReadyEvent&) const = default;
};

/// A log message: a call of the script's `log()`, or a printed line.
struct LogEvent {
  /// The origin: `log()`, stdout, stderr, or Cloche if lines were omitted.
  enum class Source { script, out, err, cloche };
  /// The severity.
  enum class Level { debug, info, warning, error };
  Source source = Source::script;  ///< The origin.
  Level level = Level::info;       ///< The severity.
  std::string message;             ///< One line, without its line break.
  bool operator==(const LogEvent&) const = default;
};

/// An intermediate result of a script.
struct IntermediateEvent {
  std::string label;  ///< The label that the script chose.
  std::string data;   ///< JSON text.
  bool operator==(const IntermediateEvent&) const = default;
};

/// The final result of a script.
struct FinalResultEvent {
  std::string data;  ///< JSON text.
  bool operator==(const FinalResultEvent&) const = default;
};

/// What went wrong.
enum class ScriptFault {
  exception,     ///< The script raised an exception that was not caught.
  data,          ///< The data of an event cannot be represented as JSON.
  protocol,      ///< The script wrote an invalid event to the event descriptor.
  timeout,       ///< It exceeded its time limit or CPU time limit.
  memory,        ///< The sandbox reached its memory limit.
  output_limit,  ///< It printed or sent more than allowed.
  crashed,       ///< It was ended by a signal.
  cancelled,     ///< The caller stopped it.
};

/// The script failed, or reached a limit.
struct ErrorEvent {
  ScriptFault fault = ScriptFault::exception;  ///< What went wrong.
  std::string message;                         ///< A message for people.
  std::string traceback;                       ///< The traceback of the script. Empty unless it raised an exception.
  bool operator==(const ErrorEvent&) const = default;
};

/// The process of the script has ended by itself. The server sends this event, never the script.
struct ScriptDoneEvent {
  int exit_code = 0;  ///< The exit code of the process.
  bool operator==(const ScriptDoneEvent&) const = default;
};

/// Any event that a listener receives.
using ScriptEvent =
    std::variant<ReadyEvent, LogEvent, IntermediateEvent, FinalResultEvent, ErrorEvent, ScriptDoneEvent>;

/// How a script ended.
enum class ScriptEnding {
  final_result,  ///< A plan returned its result.
  error,         ///< The script raised an exception or sent an invalid event.
  script_done,   ///< It ran to its end; see outcome.exit_code.
  timeout,
  memory,
  output_limit,
  crashed,    ///< It was ended by a signal, possibly its own.
  cancelled,  ///< The caller stopped it.
};

/// How a script ended, and what it sent.
struct ScriptResult {
  ScriptEnding ending = ScriptEnding::script_done;  ///< How it ended.
  std::optional<std::string> final_result;          ///< JSON text of the last final result, for any ending.
  std::optional<ErrorEvent> error;                  ///< The first error.
  std::vector<LogEvent> logs;                       ///< The log messages in order.
  std::uint64_t lost_log_lines = 0;  ///< Printed lines over the limit. Bytes over their limit are in the outcome.
  Outcome outcome;  ///< The outcome of the process. A plan is stopped after its result, so it may be `cancelled`.
};

/// Called with each event, before the next one is read.
using ScriptListener = std::function<void(const ScriptEvent&)>;

}  // namespace cloche
