/// @file
/// Options from a configuration file.
#pragma once

#include <string>

#include "cloche/manager_options.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// Reads `cloche.yml`, or the autograder's `sandbox_config.yml`, and this process's environment over it; see
/// docs/configuration.md. An empty path: the file that CLOCHE_CONFIG names, else /etc/cloche/cloche.yml, and if that is
/// not there, the defaults. Throws SandboxArgumentError with file, line and key, or SandboxNotFoundError.
CLOCHE_API ManagerOptions load_config(const std::string& path = {});

}  // namespace cloche
