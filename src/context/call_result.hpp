// The result of a call in a context, for any language.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cloche/bytes.hpp"
#include "cloche/outcome.hpp"

namespace cloche {

enum class ContextEnding {
  ok,            // ran to its end
  error,         // ran to its end with an exception that was not caught (Python only)
  timeout,       // ran longer than its limit
  memory,        // the kernel ended the interpreter because the sandbox's memory was used up
  output_limit,  // printed more than allowed
  lost,          // the interpreter ended under the call, or had ended before it
};
std::string_view to_string(ContextEnding ending);

// What the next call finds of the state of earlier calls.
enum class ContextState {
  kept,         // all of it
  handed_over,  // the shell ended and a successor has its state, but for the job table; with sh, also functions and
                // traps
  lost,         // nothing but files
};
std::string_view to_string(ContextState state);

// What happens to a call if the interpreter was lost before it.
enum class AfterLoss {
  refuse,   // its result says `lost`, until a restart
  restart,  // it gets a new interpreter, and its result says `fresh`
};

struct ContextCaps {
  Bytes keep_output = mib(1);     // of stdout and of stderr; the rest is counted and dropped
  Bytes stop_output = mib(64);    // of each; a call that prints more is interrupted
  Bytes keep_displays = mib(32);  // of what it shows; the rest is dropped
};

// Called with each thing that a call shows, as its driver describes it: any bytes.
using DisplaySink = std::function<void(std::string)>;

struct CallResult {
  ContextEnding ending = ContextEnding::ok;
  std::string reason;  // where it is not `ok` or `error`: what happened
  ContextState state = ContextState::kept;
  bool fresh = false;  // the interpreter was restarted for this call because the previous one was lost
  std::chrono::microseconds wall{};
  // What it printed, where the caller has no sink for it.
  std::string out;
  std::string err;
  OutputTotals out_totals;
  OutputTotals err_totals;
  Bytes late;                          // printed between calls, by threads or background jobs, and dropped
  std::optional<Outcome> interpreter;  // how it ended, where it ended under this call

  bool truncated() const { return out_totals.dropped.count > 0 || err_totals.dropped.count > 0; }
};

}  // namespace cloche
