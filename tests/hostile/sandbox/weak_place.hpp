// WeakPlace: an environment without isolation, in which every attack must find its hole. It shows that the attacks can
// detect holes.
//
// A crun bundle of the test's own: root with all of this process's capabilities, no filter, no limits but a cgroup
// around all of it, writable mounts, nothing masked, canaries within reach. It has namespaces of its own for processes,
// network, mounts, ipc and host name, so that nothing a program does there is done to this host.
#pragma once

#include <string>
#include <vector>

#include "hostile/sandbox/attack.hpp"

namespace cloche::hostile {

struct WeakEnd {
  std::string out;
  std::string err;
};

// Runs the attack in such a place. Throws when the place cannot be made.
WeakEnd run_in_weak_place(const Attack& attack);

}  // namespace cloche::hostile
