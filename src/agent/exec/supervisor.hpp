// The supervisor: a process between the agent and one program.
//
// It is the reaper of all descendants of the program, including double-forked ones and those in other sessions. So it
// knows the whole tree, sums its CPU time and kills all of it when the program ends, when a deadline passes or when the
// agent requests it. It runs under the agent's uid, so the program cannot reach it. It communicates with the agent over
// a seqpacket socket; when that closes, it kills the tree and exits.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "agent/exec/launch.hpp"
#include "agent/exec/supervisor_words.h"
#include "wire/exec_messages.hpp"

namespace cloche::agent {

// Agent to supervisor. Behind `elevate` follows an ElevationOrder.
struct SupervisorCommand {
  enum class Verb : std::uint32_t { stop, signal, elevate } verb = Verb::stop;
  wire::StopReason reason = wire::StopReason::none;
  std::int32_t signal = 0;
  wire::SignalTarget target = wire::SignalTarget::group;
};

// In a forked child: starts the program and supervises it.
[[noreturn]] void supervise_new(const wire::ExecRequest& request, const ProgramFds& fds, int control);

// In a process that was made a subreaper and has already forked the program (a zygote's run). The program starts when
// its limits arrive over the control socket.
[[noreturn]] void supervise_existing(pid_t program, int control);

// What a watcher knows about a program when it becomes its supervisor (zygote/watcher.c).
struct WatcherReport {
  SupervisorLimits limits{};
  std::chrono::steady_clock::time_point started;
  std::uint64_t spent_us = 0;  // cpu time, before that
  std::optional<std::chrono::steady_clock::time_point> ended;
  int status = 0;  // where it has ended
};
[[noreturn]] void supervise_watched(pid_t program, int control, const WatcherReport& watched);

}  // namespace cloche::agent
