#include "cli/outcome_json.hpp"

#include <csignal>
#include <cstring>

namespace cloche::cli {

boost::json::object to_json(const Outcome& outcome) {
  const auto seconds = [](std::chrono::microseconds span) { return static_cast<double>(span.count()) / 1e6; };
  const auto lane = [](const OutputTotals& totals) {
    return boost::json::object{{"bytes", totals.produced.count}, {"dropped", totals.dropped.count}};
  };
  boost::json::object json;
  json["ending"] = std::string(to_string(outcome.ending));
  json["exit_code"] = outcome.exit_code;
  if (outcome.signal != 0) json["signal"] = outcome.signal;
  if (!outcome.reason.empty()) json["reason"] = outcome.reason;
  json["wall_seconds"] = seconds(outcome.wall);
  json["user_seconds"] = seconds(outcome.user);
  json["system_seconds"] = seconds(outcome.system);
  json["peak_memory_bytes"] = outcome.peak_memory.count;
  json["oom_kills"] = outcome.oom_kills;
  json["stdout"] = lane(outcome.out);
  json["stderr"] = lane(outcome.err);
  return json;
}

std::string describe(const Outcome& outcome) {
  switch (outcome.ending) {
    case Ending::exited: return {};
    case Ending::signalled: return std::string("terminated by a signal: ") + ::strsignal(outcome.signal);
    case Ending::wall_limit: return "stopped: time limit exceeded";
    case Ending::cpu_limit: return "stopped: CPU time limit exceeded";
    case Ending::memory_limit: return "killed: memory limit exceeded";
    case Ending::output_limit: return "stopped: output limit exceeded";
    case Ending::not_started: return "could not be started: " + outcome.reason;
    case Ending::cancelled: return "cancelled";
  }
  return {};
}

}  // namespace cloche::cli
