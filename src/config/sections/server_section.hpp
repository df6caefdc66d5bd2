// `server:` of a configuration: where the service listens, and who may come in.
#pragma once

#include "config/section.hpp"
#include "config/settings.hpp"

namespace cloche::config {

void read_server(Section& section, ServerSettings& settings);

}  // namespace cloche::config
