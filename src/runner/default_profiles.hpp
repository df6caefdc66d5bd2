// Profiles for those who configured none: one for each language that can run here, large enough for its steps.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cloche/engine_options.hpp"
#include "runner/language_registry.hpp"

namespace cloche {

// Whether this host has the program. On docker the images have them.
using HasProgram = std::function<bool(const std::string& program)>;
bool host_has_program(const std::string& program);

std::vector<Profile> default_profiles(const LanguageRegistry& languages, BackendKind backend,
                                      const HasProgram& has = host_has_program);

// Of sessions, which go on for long and do many things: roomier than those of one program. There is a sandbox for each
// of so many sessions, and two ready for the next; none where there are no sessions. `image` is for docker.
Profile session_profile(const LanguageRegistry& languages, BackendKind backend, const std::string& image,
                        std::uint32_t most_sessions, const HasProgram& has = host_has_program);

}  // namespace cloche
