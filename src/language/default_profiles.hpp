// Profiles for those who configured none: one for each language that can run here, large enough for its steps.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cloche/engine_options.hpp"
#include "language/language_registry.hpp"

namespace cloche {

// Whether this host has the program. It is not asked for a backend that needs images: they have the programs.
using HasProgram = std::function<bool(const std::string& program)>;
bool host_has_program(const std::string& program);

std::vector<Profile> default_profiles(const LanguageRegistry& languages, BackendKind backend,
                                      const HasProgram& has = host_has_program);

// The profile of sessions, which run for long and do many things: larger than that of single programs. Each session has
// a sandbox, and two more are kept ready; none if there are no sessions. `image` is for backends that need one.
Profile session_profile(const LanguageRegistry& languages, BackendKind backend, const std::string& image,
                        std::uint32_t most_sessions, const HasProgram& has = host_has_program);

}  // namespace cloche
