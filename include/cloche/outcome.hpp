/// @file
/// Outcome: how a program ended, with the evidence. Never an Error: an Error means that Cloche could not do its work.
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
  exited,        ///< by itself, with exit_code
  signalled,     ///< by a signal that was not Cloche's: a crash, or one of its own making
  wall_limit,    ///< ran longer than allowed
  cpu_limit,     ///< its tree used more cpu time than allowed
  memory_limit,  ///< the kernel ended it because the sandbox's memory was used up
  output_limit,  ///< printed more than allowed
  not_started,   ///< no such program, not executable, no such directory
  cancelled,     ///< the caller took it back
};

/// Its name, as it stands in the enumeration.
CLOCHE_API std::string_view to_string(Ending ending);

/// What became of one output.
struct OutputTotals {
  Bytes produced;  ///< by the program, all in all
  Bytes dropped;   ///< produced but not kept
};

/// How a program ended, and what it used.
struct Outcome {
  Ending ending = Ending::exited;  ///< decided by the kernel's evidence, never by what was printed
  int exit_code = 0;   ///< as a shell would say it: 128 + signal when ended by one, 126 or 127 when not started
  int signal = 0;      ///< the signal that ended it, Cloche's own included
  std::string reason;  ///< not_started: which step failed and why
  std::chrono::microseconds wall{};    ///< from start to end
  std::chrono::microseconds user{};    ///< of the whole tree
  std::chrono::microseconds system{};  ///< of the whole tree
  Bytes peak_memory;                   ///< resident, of the largest process of the tree
  std::uint64_t oom_kills = 0;         ///< in the sandbox while the program ran
  OutputTotals out;                    ///< of stdout
  OutputTotals err;                    ///< of stderr
  OutputTotals events;                 ///< what was written to the event descriptor, where there was one

  /// It ended by itself, with exit code 0.
  bool success() const { return ending == Ending::exited && exit_code == 0; }
  /// User and system time of the whole tree.
  std::chrono::microseconds cpu() const { return user + system; }
};

}  // namespace cloche
