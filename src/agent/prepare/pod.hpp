// Process 1 of a pod: prepares the pod's volumes, starts a relay as its child and becomes the agent.
//
// A kubelet makes volumes that belong to root and are open to all. Here they become what they are on every backend: the
// work directory is the user's, and no program sees the directory of the agent. That needs the capability chown, which
// the process then gives up. The agent is process 1, and not the relay: only process 1 of gVisor inherits orphans.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/result.hpp"

namespace cloche::agent {

struct PodVolumes {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string work_dir;
  std::vector<std::string> shared;  // of all users, such as /tmp
  std::string own;                  // of the agent alone
};

// From the arguments of the verb: UID GID WORK_DIR OWN_DIR SHARED_DIR...
Result<PodVolumes> parse_pod_volumes(int count, char** arguments);

// All are directories of this process's user. Owner and mode of each are set, and those of what is in them are not.
Status prepare_volumes(const PodVolumes& volumes);

// Of the calling process, for good.
Status give_up_chown();

// The verb.
[[noreturn]] void run_pod(int count, char** arguments);

}  // namespace cloche::agent
