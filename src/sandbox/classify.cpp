#include "sandbox/classify.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace cloche {

namespace {

Ending ending_of(const wire::ExecEnded& ended, std::uint64_t oom_kills) {
  switch (ended.stopped) {
    case wire::StopReason::wall: return Ending::wall_limit;
    case wire::StopReason::cpu: return Ending::cpu_limit;
    case wire::StopReason::output: return Ending::output_limit;
    case wire::StopReason::cancelled: return Ending::cancelled;
    case wire::StopReason::none: break;
  }
  switch (ended.end) {
    case wire::EndKind::not_started: return Ending::not_started;
    case wire::EndKind::signalled:
      // SIGKILL alone proves nothing, a program can send it to itself; the kernel's counter does.
      return ended.signal == SIGKILL && oom_kills > 0 ? Ending::memory_limit : Ending::signalled;
    case wire::EndKind::exited:
      // A shell reports its child's SIGKILL this way.
      return ended.exit_code == 128 + SIGKILL && oom_kills > 0 ? Ending::memory_limit : Ending::exited;
  }
  return Ending::exited;
}

// Figures come from the agent, which may say anything: none is larger than those who read them can hold.
constexpr std::uint64_t largest_figure = std::uint64_t{1} << 53;

std::chrono::microseconds time_of(std::uint64_t microseconds) {
  return std::chrono::microseconds(std::min(microseconds, largest_figure));
}

Bytes bytes_of(std::uint64_t count) { return Bytes{std::min(count, largest_figure)}; }

// As in a shell: which program, and whether it was not found or cannot be executed.
std::string not_started_reason(const wire::ExecEnded& ended) {
  constexpr std::string_view execute = "execute ";
  const std::string why = std::generic_category().message(static_cast<int>(ended.error));
  if (!ended.failed_step.starts_with(execute)) return ended.failed_step + ": " + why;
  const std::string program = ended.failed_step.substr(execute.size());
  const bool was_searched = program.find('/') == program.npos;
  return program + ": " + (was_searched && ended.error == ENOENT ? "command not found" : why);
}

OutputTotals totals_of(const wire::LaneTotals& lane) { return {bytes_of(lane.produced), bytes_of(lane.dropped)}; }

}  // namespace

Outcome classify(const wire::ExecEnded& ended, std::uint64_t oom_kills) {
  Outcome outcome;
  outcome.ending = ending_of(ended, oom_kills);
  outcome.wall = time_of(ended.wall_us);
  outcome.user = time_of(ended.user_us);
  outcome.system = time_of(ended.system_us);
  outcome.peak_memory = bytes_of(ended.peak_rss_bytes);
  outcome.oom_kills = oom_kills;
  outcome.out = totals_of(ended.out);
  outcome.err = totals_of(ended.err);
  outcome.events = totals_of(ended.events);
  switch (ended.end) {
    case wire::EndKind::exited: outcome.exit_code = static_cast<int>(ended.exit_code & 0xff); break;
    case wire::EndKind::signalled:
      outcome.signal = static_cast<int>(ended.signal & 0x7f);
      outcome.exit_code = 128 + outcome.signal;
      break;
    case wire::EndKind::not_started:
      outcome.exit_code = ended.error == ENOENT ? 127 : 126;
      outcome.reason = not_started_reason(ended);
      break;
  }
  return outcome;
}

Outcome killed_with_sandbox(std::chrono::microseconds wall, std::uint64_t oom_kills, std::optional<Bytes> peak) {
  Outcome outcome;
  outcome.ending = Ending::memory_limit;
  outcome.signal = SIGKILL;
  outcome.exit_code = 128 + SIGKILL;
  outcome.wall = wall;
  outcome.oom_kills = oom_kills;
  outcome.peak_memory = peak.value_or(Bytes{});
  return outcome;
}

}  // namespace cloche
