// Making a sandbox for a pool: raised, greeted, its zygotes and its harness started; or nothing left of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cloche/manager_options.hpp"
#include "cloche/profile.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche::pool {

// The spec is the profile's but for the name and the labels. Volumes are for a backend whose sandboxes get them when
// they are created.
Task<Result<std::shared_ptr<LiveSandbox>>> make_sandbox(Backend& backend, SandboxSpec spec, const Profile& profile,
                                                        Deadline deadline, std::vector<MountedVolume> volumes = {});

// Takes over one that an earlier process left, and makes it as good as new. When that fails it is destroyed.
Task<Result<std::shared_ptr<LiveSandbox>>> take_over(std::unique_ptr<Enclosure> enclosure, Limits limits,
                                                     Deadline deadline);

// Keeps the sandbox if the step succeeds; destroys it if the step fails, throws or is cancelled.
Task<Result<std::shared_ptr<LiveSandbox>>> keep_if(std::shared_ptr<LiveSandbox> sandbox,
                                                   std::function<Task<Status>()> step);

// The error of a claim whose sandbox could not be created. The caller has done nothing wrong: it is `unavailable`,
// unless the profile requires something that does not exist or is impossible, which an operator must fix, or time has
// run out. Internal details are only logged.
Error refusal_of_making(Error error, const std::string& profile, Callers callers);

// Destroys it, whatever happens to the caller meanwhile; what could not be removed is logged, and the backend tries
// again.
Task<> destroy_for_sure(std::shared_ptr<LiveSandbox> sandbox);

}  // namespace cloche::pool
