// System V ipc of the sandbox's own ipc namespace. (POSIX ipc lives in /dev/shm and /dev/mqueue, which are places.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cloche::agent {

// What is there now: "shm 3", "sem 0", "msg 17".
std::vector<std::string> list_ipc_objects();

// Removes all that the caller may remove; says how many.
std::uint64_t remove_ipc_objects();

}  // namespace cloche::agent
