/// @file
/// Outcome: how a program ended, with the evidence. It is never an Error; an Error means that Cloche could not do its
/// work.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cloche/bytes.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// How a program ended.
enum class Ending {
  exited,        ///< It ended by itself with exit_code.
  signalled,     ///< It was ended by a signal that Cloche did not send, such as a crash.
  wall_limit,    ///< It exceeded its time limit.
  cpu_limit,     ///< Its process tree exceeded its CPU time limit.
  memory_limit,  ///< The kernel killed it because the sandbox reached its memory limit.
  output_limit,  ///< It printed more than allowed.
  not_started,   ///< It could not be started: no such program, not executable, or no such directory.
  cancelled,     ///< The caller cancelled it.
};

/// Returns the name of the enumerator.
CLOCHE_API std::string_view to_string(Ending ending);

/// Byte counts of one output.
struct OutputTotals {
  Bytes produced;  ///< All bytes that the program wrote.
  Bytes dropped;   ///< The bytes that were not kept.
};

/// How a program ended and what it used.
struct Outcome {
  /// How it ended. This is decided by evidence of the kernel, never by what was printed.
  Ending ending = Ending::exited;
  int exit_code = 0;   ///< As in a shell: 128 + signal if a signal ended it, 126 or 127 if it could not be started.
  int signal = 0;      ///< The signal that ended it, including signals that Cloche sent.
  std::string reason;  ///< For not_started: the step that failed and why.
  std::chrono::microseconds wall{};    ///< Wall-clock time.
  std::chrono::microseconds user{};    ///< User time of the whole process tree.
  std::chrono::microseconds system{};  ///< System time of the whole process tree.
  Bytes peak_memory;                   ///< Resident memory of the largest process of the tree.
  std::uint64_t oom_kills = 0;         ///< Kills by the OOM killer in the sandbox while the program ran.
  OutputTotals out;                    ///< Byte counts of stdout.
  OutputTotals err;                    ///< Byte counts of stderr.
  OutputTotals events;                 ///< Byte counts of the event descriptor, if there was one.

  /// Returns true if it ended by itself with exit code 0.
  bool success() const { return ending == Ending::exited && exit_code == 0; }
  /// Returns user plus system time of the whole process tree.
  std::chrono::microseconds cpu() const { return user + system; }
};

}  // namespace cloche
