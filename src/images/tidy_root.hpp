// What is done to a root filesystem after its packages are installed: the user `sandbox` is added, and unneeded files
// are removed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace cloche::images {

// The paths below `root` that match a pattern of a PackageList. Links are never followed, so none can lead out.
std::vector<std::string> expand_pattern(const std::string& root, std::string_view pattern);

// Removes `dropped` and traces of the build machine; adds the user (1000:1000) and the directories /workspace and /app;
// clears the set-uid and set-gid bits.
Status tidy_root(const std::string& root, const std::vector<std::string>& dropped);

}  // namespace cloche::images
