/// @file
/// Scripts: Python source that runs in a fresh fork of a harness kept ready in the sandbox, and speaks in events.
/// Data is JSON text, valid and as the script wrote it. All other text is UTF-8.
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

/// What scripts are forked from.
struct ScriptHarness {
  std::string interpreter = "python3";  ///< found in the sandbox's PATH
  std::vector<std::string> imports;     ///< what scripts find imported
};

/// When a script is over.
enum class ScriptMode {
  plan,         ///< over at its first final_result or error; the rest of the script is not run
  interactive,  ///< goes on until its process ends
};

/// How much a script may print and send.
struct ScriptCaps {
  Bytes keep_output = kib(256);    ///< of stdout and of stderr; the rest is counted and dropped
  Bytes stop_output = mib(16);     ///< of each; more ends the script
  std::uint64_t log_lines = 5000;  ///< printed lines that become events; the rest is counted and dropped
  Bytes event = mib(1);            ///< one event
  Bytes event_bytes = mib(4);      ///< all events; more ends the script
  std::uint64_t events = 1000;     ///< the same
};

/// One script.
struct ScriptRequest {
  std::string source;                                               ///< Python, UTF-8
  std::string name = "script.py";                                   ///< in tracebacks
  ScriptMode mode = ScriptMode::plan;                               ///< when it is over
  std::string inputs = "null";                                      ///< JSON text; the script's `inputs`
  std::map<std::string, std::string> env;                           ///< secrets too: nothing of it outlives the script
  std::chrono::milliseconds wall_limit = std::chrono::seconds(30);  ///< until it is ended
  std::optional<std::chrono::milliseconds> cpu_limit;               ///< user and system time together; unset: no limit
  ScriptCaps caps;                                                  ///< how much it may print and send
};

/// The harness has taken the script; always first.
struct ReadyEvent {
  bool operator==(const ReadyEvent&) const = default;
};

/// Something to be told: a call of the script's `log()`, or a line that was printed.
struct LogEvent {
  /// Who said it: `log()`, stdout, stderr, or Cloche where lines were left out.
  enum class Source { script, out, err, cloche };
  /// How much it matters.
  enum class Level { debug, info, warning, error };
  Source source = Source::script;  ///< who said it
  Level level = Level::info;       ///< how much it matters
  std::string message;             ///< one line, without its end
  bool operator==(const LogEvent&) const = default;
};

/// What a script has found so far.
struct IntermediateEvent {
  std::string label;  ///< the script's name for it
  std::string data;   ///< JSON text
  bool operator==(const IntermediateEvent&) const = default;
};

/// What a script was run for.
struct FinalResultEvent {
  std::string data;  ///< JSON text
  bool operator==(const FinalResultEvent&) const = default;
};

/// What went wrong.
enum class ScriptFault {
  exception,     ///< the script raised it and nobody caught it
  data,          ///< an event's data cannot be JSON
  protocol,      ///< the script wrote something to the event descriptor that is no event
  timeout,       ///< ran longer, or used more cpu time, than allowed
  memory,        ///< the sandbox's memory was used up
  output_limit,  ///< printed or sent more than allowed
  crashed,       ///< ended by a signal
  cancelled,     ///< the caller stopped it
};

/// The script, or what it was allowed, came to an end too soon.
struct ErrorEvent {
  ScriptFault fault = ScriptFault::exception;  ///< what went wrong
  std::string message;                         ///< for people
  std::string traceback;                       ///< of the script; empty unless it raised
  bool operator==(const ErrorEvent&) const = default;
};

/// The script's process has ended by itself. The server says this, never the script.
struct ScriptDoneEvent {
  int exit_code = 0;  ///< of its process
  bool operator==(const ScriptDoneEvent&) const = default;
};

/// Whatever a listener is told.
using ScriptEvent =
    std::variant<ReadyEvent, LogEvent, IntermediateEvent, FinalResultEvent, ErrorEvent, ScriptDoneEvent>;

/// How a script came to its end.
enum class ScriptEnding {
  final_result,  ///< a plan gave its result
  error,         ///< the script raised, or sent something that is no event
  script_done,   ///< ran to its end; outcome.exit_code says how it left
  timeout,
  memory,
  output_limit,
  crashed,    ///< ended by a signal, its own included
  cancelled,  ///< stopped by the caller
};

/// How a script ended, and what it said.
struct ScriptResult {
  ScriptEnding ending = ScriptEnding::script_done;  ///< how it ended
  std::optional<std::string> final_result;          ///< JSON text; the last one, whatever the ending
  std::optional<ErrorEvent> error;                  ///< the first one
  std::vector<LogEvent> logs;                       ///< in their order
  std::uint64_t lost_log_lines = 0;                 ///< printed but over the cap; bytes over theirs are in the outcome
  Outcome outcome;                                  ///< a plan that gave its result is ended, so it may say `cancelled`
};

/// Told of each event before the next one is looked for.
using ScriptListener = std::function<void(const ScriptEvent&)>;

}  // namespace cloche
