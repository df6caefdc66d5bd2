// ScriptProgress: what has become of a script so far. It takes what comes from the script's process, and answers with
// events, with "end it now", and at last with the result. No I/O.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cloche/outcome.hpp"
#include "core/result.hpp"
#include "sandbox/exec.hpp"
#include "script/event_reader.hpp"
#include "script/log_lines.hpp"
#include "script/script_event.hpp"
#include "script/script_request.hpp"

namespace cloche {

std::string_view to_string(ScriptEnding ending);

class ScriptProgress {
 public:
  ScriptProgress(ScriptMode mode, const ScriptCaps& caps);

  void take(const Output& output);
  // The process is gone. An error means that the harness failed, not the script.
  Status finish(Outcome outcome);

  // In order. A plan's final_result or error comes last, even if the script printed after it.
  std::optional<ScriptEvent> next_event();
  // The script is over though its process may not be.
  bool wants_stop() const { return last_.has_value(); }
  // Whether the harness has taken the script.
  bool started() const { return started_; }
  bool finished() const { return finished_; }
  // Once finished() and after the last event.
  ScriptResult take_result() { return std::move(result_); }

 private:
  void take_event(ScriptEvent event);
  void take_printed(std::vector<LogEvent> lines);
  void tell(ScriptEvent event) { events_.push_back(std::move(event)); }
  void add_end();

  ScriptMode mode_;
  std::uint64_t lines_left_;
  EventReader reader_;
  LogLines out_{LogEvent::Source::out};
  LogLines err_{LogEvent::Source::err};
  std::deque<ScriptEvent> events_;
  std::optional<ScriptEvent> last_;  // what ended the script before its process did
  bool started_ = false;
  bool finished_ = false;
  ScriptResult result_;
};

}  // namespace cloche
