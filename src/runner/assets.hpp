// Assets: files for a sandbox's /tmp.
#pragma once

#include <vector>

#include "cloche/submission.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche::runner {

// Refuses targets that are not below /tmp.
Status validate_assets(const std::vector<Asset>& assets);

// Nothing is written when one of them is refused.
Task<Status> write_assets(LiveSandbox& sandbox, const std::vector<Asset>& assets, Deadline deadline);

}  // namespace cloche::runner
