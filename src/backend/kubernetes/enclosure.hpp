// PodEnclosure: the isolation of one sandbox, which is a pod.
#pragma once

#include <memory>

#include "backend/kubernetes/reaper.hpp"
#include "backend/kubernetes/remote.hpp"
#include "sandbox/backend.hpp"

namespace cloche::kubernetes {

struct PodParts {
  Remote remote;
  SandboxSpec spec;  // with the uid of the pod
  Kernel kernel = Kernel::elsewhere;
};

// The reaper continues a failed removal after the enclosure is gone.
std::unique_ptr<Enclosure> create_enclosure(std::shared_ptr<Reaper> reaper, PodParts parts, HeldId held);

}  // namespace cloche::kubernetes
