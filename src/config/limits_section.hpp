// `limits:` of a configuration.
#pragma once

#include "cloche/limits.hpp"
#include "config/section.hpp"

namespace cloche::config {

// Over what `limits` has; the whole is checked.
void read_limits(Section& section, Limits& limits);

}  // namespace cloche::config
