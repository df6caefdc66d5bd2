// Ipc of the sandbox's own namespace that lives on without a process: System V segments, semaphores and queues.
// (POSIX shared memory and, where /dev/mqueue is mounted, POSIX queues are files in places that are wiped.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cloche::agent {

// The existing objects, one per line. Empty: none.
std::vector<std::string> list_ipc_objects();

// Removes all that the caller may remove; says how many.
std::uint64_t remove_ipc_objects();

// POSIX queues can be made here, though no /dev/mqueue shows them: they could not be found again.
bool has_invisible_queues();

}  // namespace cloche::agent
