// The supervisor: a process between the agent and one program.
//
// It is the reaper of all that descends from the program, double-forked and setsid or not, so it knows the whole tree,
// sums its cpu time and ends all of it when the program ends, when a deadline passes or when the agent says so. It runs
// under the agent's uid: the program cannot reach it. It speaks with the agent over a seqpacket socket; when that
// closes, it ends the tree and itself.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "agent/launch.hpp"
#include "agent/supervisor_words.h"
#include "wire/exec_messages.hpp"

namespace cloche::agent {

// Agent to supervisor.
struct SupervisorCommand {
  enum class Verb : std::uint32_t { stop, signal } verb = Verb::stop;
  wire::StopReason reason = wire::StopReason::none;
  std::int32_t signal = 0;
  wire::SignalTarget target = wire::SignalTarget::group;
};

// In a forked child: starts the program and supervises it.
[[noreturn]] void supervise_new(const wire::ExecRequest& request, const ProgramFds& fds, int control);

// In a process that was made a subreaper and has forked the program already (a zygote's run). The program begins when
// its limits come over the control socket.
[[noreturn]] void supervise_existing(pid_t program, int control);

// What a watcher has seen of a program when it becomes its supervisor (zygote/watcher.c).
struct WatcherReport {
  SupervisorLimits limits{};
  std::chrono::steady_clock::time_point started;
  std::uint64_t spent_us = 0;  // cpu time, before that
  std::optional<std::chrono::steady_clock::time_point> ended;
  int status = 0;  // where it has ended
};
[[noreturn]] void supervise_watched(pid_t program, int control, const WatcherReport& watched);

}  // namespace cloche::agent
