/// @file
/// Options of a manager.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cloche/egress.hpp"
#include "cloche/engine_options.hpp"
#include "cloche/profile.hpp"

namespace cloche {

/// Who sees the errors of a manager.
enum class Callers {
  trusted,    ///< The operator: errors contain the reason why a sandbox could not be created.
  strangers,  ///< Clients of a service: errors contain nothing about the engine and the host. The reason is in the log.
};

/// Profiles, names and secrets of a manager.
struct ManagerOptions {
  EngineOptions engine;                        ///< What creates the sandboxes.
  std::vector<Profile> profiles;               ///< The profiles. Each has a pool.
  std::map<std::string, std::string> aliases;  ///< Other names for profiles, such as language names.
  std::string name_prefix = "cloche";          ///< Sandboxes are named {prefix}-{profile}-{pool8}-{seq4}.
  /// All secrets by name. The environment is not used: to use an environment variable as a secret, put its value here.
  std::map<std::string, std::string> secrets;
  EgressOptions egress;  ///< Connections of programs to the outside.
  /// How many sandboxes of all pools may be created, and how many removed, at the same time.
  std::uint32_t max_making = 4;
  std::uint32_t max_removing = 4;      ///< See max_making.
  Callers callers = Callers::trusted;  ///< Who sees the errors.
  /// How long a shutdown waits for leases before it ends them.
  std::chrono::milliseconds drain_timeout{10'000};
};

}  // namespace cloche
