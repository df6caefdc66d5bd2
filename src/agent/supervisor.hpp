// The supervisor: a process between the agent and one program.
//
// It is the reaper of all that descends from the program, double-forked and setsid or not, so it knows the whole tree,
// sums its cpu time and ends all of it when the program ends, when a deadline passes or when the agent says so. It runs
// under the agent's uid: the program cannot reach it. It speaks with the agent over a seqpacket socket; when that
// closes, it ends the tree and itself.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "agent/launch.hpp"
#include "wire/exec_messages.hpp"

namespace cloche::agent {

// Agent to supervisor.
struct SupervisorCommand {
  enum class Verb : std::uint32_t { stop, signal } verb = Verb::stop;
  wire::StopReason reason = wire::StopReason::none;
  std::int32_t signal = 0;
  wire::SignalTarget target = wire::SignalTarget::group;
};

struct SupervisorLimits {
  std::uint64_t wall_ms = 0;
  std::uint64_t cpu_ms = 0;
};

// Supervisor to agent: an encoded ExecStarted, then an encoded ExecEnded (without the output's totals).

// In a forked child: starts the program and supervises it.
[[noreturn]] void supervise_new(const wire::ExecRequest& request, const ProgramFds& fds, int control);

// In a process that was made a subreaper and has forked the program already (a zygote's run). Limits come over the
// control socket as a SupervisorLimits.
[[noreturn]] void supervise_existing(pid_t program, int control);

}  // namespace cloche::agent
