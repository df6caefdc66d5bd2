// Which process a number means: numbers are used again, but not with the same start time in the same boot.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::oci {

struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // in clock ticks after boot

  bool operator==(const ProcessIdentity&) const = default;
};

// Field 22 of /proc/<pid>/stat, given that file's text; nothing for a process that is gone or a zombie.
std::optional<std::uint64_t> parse_start_time(std::string_view stat);
// The identity of a living process; nothing if it is gone or a zombie.
std::optional<ProcessIdentity> identify(pid_t pid);
ProcessIdentity identify_self();
bool is_alive(const ProcessIdentity& process);
// Kills that very process and no other that got its number.
void kill_process(const ProcessIdentity& process);

// Changes with each boot of the host.
Result<std::string> boot_id();

}  // namespace cloche::oci
