// The real directory that a RootPlan describes: made once, shared by all sandboxes with the same plan.
#pragma once

#include <string>

#include "backend/oci/root/root_plan.hpp"

namespace cloche::oci {

// The skeleton of this plan below `store`; created if it does not exist, completely or not at all.
Result<std::string> ensure_skeleton(const std::string& store, const RootPlan& plan);

}  // namespace cloche::oci
