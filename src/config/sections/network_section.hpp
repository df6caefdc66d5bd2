// `network:` of a profile: a word, or a map with rules.
#pragma once

#include "cloche/network.hpp"
#include "config/section.hpp"

namespace cloche::config {

void read_network(Section& section, NetworkPolicy& network);

}  // namespace cloche::config
