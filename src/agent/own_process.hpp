// What the agent, its relay and its dial do to their own process before anything else runs beside them.
#pragma once

#include <string>

namespace cloche::agent {

// The path of this program.
std::string own_path();

// What the image and the engine set must not be visible to programs, and some kernels (gVisor) show it to all of them.
void forget_environment();

// Orphans of this process's descendants become its children, as they are those of a process 1 anyway. False if the
// kernel cannot do that (gVisor).
bool become_reaper();

}  // namespace cloche::agent
