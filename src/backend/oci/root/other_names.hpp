// Programs that are called by a name their root does not have: `python` where there is only `python3`.
#pragma once

#include "backend/oci/root/root_plan.hpp"

namespace cloche::oci {

// Adds a directory of links, the last one in the PATH of programs. A name that the root itself has in any directory of
// the search path is left alone. `image_root` is the root's directory on the host; `/` for the host's own programs.
Status add_other_names(RootPlanner& root, const std::string& image_root);

}  // namespace cloche::oci
