// `dialects:` of a configuration.
#pragma once

#include "config/section.hpp"
#include "config/settings.hpp"

namespace cloche::config {

void read_dialects(Section& section, DialectSettings& settings);

}  // namespace cloche::config
