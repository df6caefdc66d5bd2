// System calls that the agent blocks for itself and all its descendants if the sandbox's kernel leaves them open. On
// Linux the runtime or the engine sets the filter; gVisor on an engine has no other filter.
#pragma once

#include "core/result.hpp"

namespace cloche::agent {

struct ClosedCalls {
  // POSIX message queues that no /dev/mqueue shows: a reset could not find them again.
  bool queues = false;
  // A program that makes a user namespace has all capabilities in it; gVisor then lets it pass its process limit.
  bool namespaces = false;
};

// True when a program could make a user namespace here. Tried in a child.
bool can_make_namespaces();

Status close_calls(ClosedCalls closed);

}  // namespace cloche::agent
