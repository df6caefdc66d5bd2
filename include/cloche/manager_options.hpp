/// @file
/// What a manager of pools is made with.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cloche/engine_options.hpp"
#include "cloche/profile.hpp"

namespace cloche {

/// Who gets a manager's errors.
enum class Callers {
  trusted,    ///< whoever runs it: errors say why a sandbox could not be made
  strangers,  ///< callers of a service: they learn nothing of the engine and the host; the log says why
};

/// Profiles, names and secrets of a manager.
struct ManagerOptions {
  EngineOptions engine;                        ///< what makes the sandboxes
  std::vector<Profile> profiles;               ///< a pool each
  std::map<std::string, std::string> aliases;  ///< other names, a language's say, to a profile's
  std::string name_prefix = "cloche";          ///< sandboxes are called {prefix}-{profile}-{pool8}-{seq4}
  /// All secrets there are, by name. Nothing is looked up in the environment: a program that wants a variable of its
  /// environment as a secret puts it here.
  std::map<std::string, std::string> secrets;
  /// How many sandboxes of all pools together may be in the making, and how many on their way out, at the same time.
  std::uint32_t max_making = 4;
  std::uint32_t max_removing = 4;      ///< see max_making
  Callers callers = Callers::trusted;  ///< who gets its errors
  /// How long shutdown waits for leases to be given back before it ends them.
  std::chrono::milliseconds drain_timeout{10'000};
};

}  // namespace cloche
