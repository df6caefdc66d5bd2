#include "script/script_progress.hpp"

#include <cstdio>

namespace cloche {

namespace {

std::string seconds(std::chrono::microseconds span) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(span).count());
  return text;
}

// The error for a script whose process did not end by itself.
struct Forced {
  ScriptEnding ending = ScriptEnding::crashed;
  ErrorEvent event;
};

Forced forced_end(const Outcome& outcome) {
  const auto forced = [](ScriptEnding ending, ScriptFault fault, std::string message) {
    return Forced{ending, ErrorEvent{fault, std::move(message), {}}};
  };
  switch (outcome.ending) {
    case Ending::wall_limit:
      return forced(ScriptEnding::timeout, ScriptFault::timeout,
                    "the script reached its time limit and was stopped after " + seconds(outcome.wall));
    case Ending::cpu_limit:
      return forced(ScriptEnding::timeout, ScriptFault::timeout,
                    "the script reached its CPU time limit and was stopped after " + seconds(outcome.cpu()));
    case Ending::memory_limit:
      return forced(ScriptEnding::memory, ScriptFault::memory, "the script reached the memory limit of the sandbox");
    case Ending::output_limit:
      return forced(ScriptEnding::output_limit, ScriptFault::output_limit,
                    "the script exceeded its limit of output or events");
    case Ending::cancelled: return forced(ScriptEnding::cancelled, ScriptFault::cancelled, "the script was stopped");
    case Ending::signalled:
    case Ending::exited:
    case Ending::not_started: break;
  }
  return forced(ScriptEnding::crashed, ScriptFault::crashed,
                "the script was terminated by signal " + std::to_string(outcome.signal));
}

}  // namespace

std::string_view to_string(ScriptEnding ending) {
  switch (ending) {
    case ScriptEnding::final_result: return "final_result";
    case ScriptEnding::error: return "error";
    case ScriptEnding::script_done: return "script_done";
    case ScriptEnding::timeout: return "timeout";
    case ScriptEnding::memory: return "memory";
    case ScriptEnding::output_limit: return "output_limit";
    case ScriptEnding::crashed: return "crashed";
    case ScriptEnding::cancelled: break;
  }
  return "cancelled";
}

ScriptProgress::ScriptProgress(ScriptMode mode, const ScriptCaps& caps)
    : mode_(mode),
      lines_left_(caps.log_lines),
      reader_({.line = caps.event.count, .bytes = caps.event_bytes.count, .events = caps.events}) {}

void ScriptProgress::take(const Output& output) {
  switch (output.stream) {
    case Stream::out: return take_printed(out_.feed(output.bytes));
    case Stream::err: return take_printed(err_.feed(output.bytes));
    case Stream::event: break;
  }
  if (last_) return;
  reader_.feed(output.bytes);
  while (auto event = reader_.next()) take_event(std::move(*event));
}

void ScriptProgress::take_printed(std::vector<LogEvent> lines) {
  for (LogEvent& line : lines) {
    if (lines_left_ == 0) {
      ++result_.lost_log_lines;
      continue;
    }
    --lines_left_;
    result_.logs.push_back(line);
    tell(std::move(line));
  }
}

void ScriptProgress::take_event(ScriptEvent event) {
  if (last_) return;
  bool ends_plan = false;
  if (std::holds_alternative<ReadyEvent>(event)) {
    started_ = true;
  } else if (const auto* log = std::get_if<LogEvent>(&event)) {
    result_.logs.push_back(*log);
  } else if (const auto* final = std::get_if<FinalResultEvent>(&event)) {
    result_.final_result = final->data;
    ends_plan = true;
  } else if (const auto* error = std::get_if<ErrorEvent>(&event)) {
    if (!result_.error) result_.error = *error;
    ends_plan = true;
  }
  if (reader_.exhausted() || (ends_plan && mode_ == ScriptMode::plan)) {
    last_ = std::move(event);
  } else {
    tell(std::move(event));
  }
}

Status ScriptProgress::finish(Outcome outcome) {
  const bool by_itself = outcome.ending == Ending::exited;
  take_printed(out_.finish());
  take_printed(err_.finish());
  if (!started_ && (by_itself || outcome.ending == Ending::not_started)) {
    std::string why = outcome.reason.empty() ? "exit code " + std::to_string(outcome.exit_code) : outcome.reason;
    if (!result_.logs.empty()) why += ": " + result_.logs.back().message;
    return fail(ErrorCode::internal, "the script harness failed before the script started: " + why);
  }
  // A process that was killed may have been in the middle of a line.
  while (by_itself) {
    auto event = reader_.finish();
    if (!event) break;
    take_event(std::move(*event));
  }
  result_.outcome = std::move(outcome);
  add_end();
  finished_ = true;
  return {};
}

void ScriptProgress::add_end() {
  if (result_.lost_log_lines > 0) {
    LogEvent lost{LogEvent::Source::cloche, LogEvent::Level::warning,
                  std::to_string(result_.lost_log_lines) + " printed lines were omitted"};
    result_.logs.push_back(lost);
    tell(std::move(lost));
  }
  if (last_) {
    const bool is_result = std::holds_alternative<FinalResultEvent>(*last_);
    result_.ending = is_result             ? ScriptEnding::final_result
                     : reader_.exhausted() ? ScriptEnding::output_limit
                                           : ScriptEnding::error;
    tell(*last_);
  } else if (result_.outcome.ending == Ending::exited) {
    result_.ending = result_.error ? ScriptEnding::error : ScriptEnding::script_done;
    tell(ScriptDoneEvent{result_.outcome.exit_code});
  } else {
    auto forced = forced_end(result_.outcome);
    result_.ending = forced.ending;
    if (!result_.error) result_.error = forced.event;
    tell(std::move(forced.event));
  }
}

std::optional<ScriptEvent> ScriptProgress::next_event() {
  if (events_.empty()) return std::nullopt;
  ScriptEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

}  // namespace cloche
