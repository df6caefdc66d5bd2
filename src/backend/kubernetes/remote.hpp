// Remote: one sandbox of a cluster, as the parts of this backend share it.
#pragma once

#include <memory>
#include <string>

#include "backend/kubernetes/api/api.hpp"
#include "backend/kubernetes/pod/pod_watch.hpp"
#include "sandbox/resumable_channel.hpp"

namespace cloche::kubernetes {

struct Remote {
  Executor executor;
  std::shared_ptr<Api> api;
  std::shared_ptr<PodWatch> watch;
  std::string pod;
  std::string uid;      // of the pod
  std::string sandbox;  // our id
};

// Connections to the relay of the sandbox. A pod that is gone, has ended or is another one is `sandbox_lost`, by what
// the cluster says of it; the end of a stream alone never is.
Dial dial_to(Remote remote);

}  // namespace cloche::kubernetes
