// Makes sandboxes and removes them: all the blocking steps, in order, each journalled before it is done.
#pragma once

#include <string>
#include <vector>

#include "backend/oci/fifo_channel.hpp"
#include "backend/oci/host.hpp"
#include "backend/oci/record.hpp"
#include "core/cancel_token.hpp"
#include "core/result.hpp"
#include "sandbox/spec.hpp"

namespace cloche::oci {

struct MadeSandbox {
  SandboxRecord record;
  FifoEnds ends;  // the server's
};

// What process 1 is asked to do.
enum class AgentTask {
  serve,   // `agent init`: lives until it is killed
  answer,  // `agent version`: prints one line and exits, perhaps before it is observed
};

// Makes a sandbox with this runtime and starts the agent in it. Whatever fails, or when the token says stop, all of it
// is taken back. Volumes are for a runtime with a kernel of its own; others get them later.
Result<MadeSandbox> make_sandbox(Host& host, const SandboxSpec& spec, const Runtime& runtime, AgentTask task,
                                 const CancelToken& token, std::vector<MountedVolume> volumes = {});

// Ends and removes all that this id names. What is left past the deadline is in the error, and the journal stays.
Status remove_sandbox(Host& host, const std::string& id, Deadline deadline);
// The same for one that no one else will try to remove: a failure is logged, and noted for a later try.
void remove_or_note(Host& host, const std::string& id, Deadline deadline);

// The cgroup limits for a caller's limits. unsupported if the runtime itself needs more.
Result<CgroupLimits> cgroup_limits_for(const Limits& limits, const RuntimeTraits& traits);

}  // namespace cloche::oci
