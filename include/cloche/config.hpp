/// @file
/// Reads options from a configuration file.
#pragma once

#include <string>

#include "cloche/manager_options.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// Reads `cloche.yml`, or the autograder's `sandbox_config.yml`, and applies the environment of this process; see
/// docs/configuration.md. An empty path means the file in CLOCHE_CONFIG, or else /etc/cloche/cloche.yml, or else the
/// defaults. Throws SandboxArgumentError with file, line and key, or SandboxNotFoundError.
CLOCHE_API ManagerOptions load_config(const std::string& path = {});

}  // namespace cloche
