// A root filesystem from Debian's packages, by mmdebstrap.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/cancel_token.hpp"
#include "core/result.hpp"
#include "images/recipe.hpp"

namespace cloche::images {

// The progress of a build, for people.
using Progress = std::function<void(std::string_view line)>;

// Whether this host can make one: permission_denied or unsupported, and what to do about it.
Status check_offline_tools();

// Makes `draft`/rootfs, complete and tidy; `draft` is an empty directory whose content is the caller's to remove, also
// after an error. Blocking. `unavailable` when the packages cannot be had.
Status make_debian_root(const Recipe& recipe, const std::string& draft, const Progress& progress,
                        const CancelToken& token);

}  // namespace cloche::images
