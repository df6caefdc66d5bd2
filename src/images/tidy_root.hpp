// What is done to a root filesystem after its packages are in: the user `sandbox`, and away with what is not needed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace cloche::images {

// The paths below `root` that a pattern of a PackageList stands for. No link is followed, so none can lead out.
std::vector<std::string> expand_pattern(const std::string& root, std::string_view pattern);

// Removes `dropped` and what tells of the machine that made it; adds the user (1000:1000) and his directories
// /workspace and /app; takes the set-uid and set-gid bits away.
Status tidy_root(const std::string& root, const std::vector<std::string>& dropped);

}  // namespace cloche::images
