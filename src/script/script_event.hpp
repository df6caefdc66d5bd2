// What a script says while it runs, and what is said of it: the events of one run.
//
// Data is JSON text, valid and as the script wrote it. All other text is UTF-8.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace cloche {

// The harness has taken the script; always first.
struct ReadyEvent {
  bool operator==(const ReadyEvent&) const = default;
};

struct LogEvent {
  enum class Source { script, out, err, cloche } source = Source::script;
  enum class Level { debug, info, warning, error } level = Level::info;
  std::string message;
  bool operator==(const LogEvent&) const = default;
};

struct IntermediateEvent {
  std::string label;
  std::string data;
  bool operator==(const IntermediateEvent&) const = default;
};

struct FinalResultEvent {
  std::string data;
  bool operator==(const FinalResultEvent&) const = default;
};

enum class ScriptFault {
  exception,     // the script raised it and nobody caught it
  data,          // an event's data cannot be JSON
  protocol,      // the script wrote something to the event descriptor that is no event
  timeout,       // ran longer, or used more cpu time, than allowed
  memory,        // the sandbox's memory was used up
  output_limit,  // printed or sent more than allowed
  crashed,       // ended by a signal
  cancelled,     // the caller stopped it
};

struct ErrorEvent {
  ScriptFault fault = ScriptFault::exception;
  std::string message;
  std::string traceback;  // of the script; empty unless it raised
  bool operator==(const ErrorEvent&) const = default;
};

// The script's process has ended by itself. The server says this, never the script.
struct ScriptDoneEvent {
  int exit_code = 0;
  bool operator==(const ScriptDoneEvent&) const = default;
};

using ScriptEvent =
    std::variant<ReadyEvent, LogEvent, IntermediateEvent, FinalResultEvent, ErrorEvent, ScriptDoneEvent>;

std::string_view to_string(LogEvent::Source source);
std::string_view to_string(LogEvent::Level level);
std::string_view to_string(ScriptFault fault);

// One JSON object without a line break: {"type":"intermediate","label":"rows","data":[1,2]}.
std::string to_json(const ScriptEvent& event);

}  // namespace cloche
