#include "sandbox/classify.hpp"

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

}  // namespace

Outcome classify(const wire::ExecEnded& ended, std::uint64_t oom_kills) {
  Outcome outcome;
  outcome.ending = ending_of(ended, oom_kills);
  outcome.wall = std::chrono::microseconds(ended.wall_us);
  outcome.user = std::chrono::microseconds(ended.user_us);
  outcome.system = std::chrono::microseconds(ended.system_us);
  outcome.peak_memory = Bytes{ended.peak_rss_bytes};
  outcome.oom_kills = oom_kills;
  outcome.out = {Bytes{ended.out.produced}, Bytes{ended.out.dropped}};
  outcome.err = {Bytes{ended.err.produced}, Bytes{ended.err.dropped}};
  outcome.events = {Bytes{ended.events.produced}, Bytes{ended.events.dropped}};
  switch (ended.end) {
    case wire::EndKind::exited: outcome.exit_code = static_cast<int>(ended.exit_code & 0xff); break;
    case wire::EndKind::signalled:
      outcome.signal = static_cast<int>(ended.signal & 0x7f);
      outcome.exit_code = 128 + outcome.signal;
      break;
    case wire::EndKind::not_started:
      outcome.exit_code = ended.error == ENOENT ? 127 : 126;
      outcome.reason = ended.failed_step + ": " + std::generic_category().message(static_cast<int>(ended.error));
      break;
  }
  return outcome;
}

Outcome killed_with_sandbox(std::chrono::microseconds wall, std::uint64_t oom_kills) {
  Outcome outcome;
  outcome.ending = Ending::memory_limit;
  outcome.signal = SIGKILL;
  outcome.exit_code = 128 + SIGKILL;
  outcome.wall = wall;
  outcome.oom_kills = oom_kills;
  return outcome;
}

}  // namespace cloche
