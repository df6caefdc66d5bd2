// `limits:` of a configuration.
#pragma once

#include "cloche/limits.hpp"
#include "config/section.hpp"

namespace cloche::config {

// Over what `limits` has; the whole is checked. If `limits` leaves sizes to the image, they cannot be set here. `set`
// has those that are said here, and what it had before.
void read_limits(Section& section, Limits& limits, LimitOverrides& set);

// The limits that a request can set. Unset values stay unchanged.
void read_max_limits(Section& section, LimitOverrides& most);

}  // namespace cloche::config
