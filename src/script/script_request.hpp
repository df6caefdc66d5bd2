// ScriptRequest: one script to run, and how it reaches the harness.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cloche/bytes.hpp"
#include "cloche/exec.hpp"
#include "core/result.hpp"

namespace cloche {

enum class ScriptMode {
  plan,         // over at its first final_result or error; the rest of the script is not run
  interactive,  // goes on until its process ends
};

std::string_view to_string(ScriptMode mode);

struct ScriptCaps {
  Bytes keep_output = kib(256);    // of stdout and of stderr; the rest is counted and dropped
  Bytes stop_output = mib(16);     // of each; more ends the script
  std::uint64_t log_lines = 5000;  // printed lines that become events; the rest is counted and dropped
  Bytes event = mib(1);            // one event
  Bytes event_bytes = mib(4);      // all events; more ends the script
  std::uint64_t events = 1000;     // the same
};

struct ScriptRequest {
  std::string source;              // Python, UTF-8
  std::string name = "script.py";  // in tracebacks
  ScriptMode mode = ScriptMode::plan;
  std::string inputs = "null";             // JSON text; the script's `inputs`
  std::map<std::string, std::string> env;  // secrets too: nothing of it outlives the script
  std::chrono::milliseconds wall_limit = std::chrono::seconds(30);
  std::optional<std::chrono::milliseconds> cpu_limit;
  ScriptCaps caps;
};

// Refuses what makes no sense.
Status validate(const ScriptRequest& request);

// What the harness reads from its stdin.
std::string to_harness_input(const ScriptRequest& request);
// The exec, forked from the harness of this name.
ExecSpec to_exec(const ScriptRequest& request, std::string harness);

}  // namespace cloche
