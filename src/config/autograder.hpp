// The autograder's `sandbox_config.yml`: a `general` section for the pools of all its languages, and for each language
// what is different, either as a section of that name or below `languages`.
#pragma once

#include "cloche/manager_options.hpp"
#include "config/section.hpp"

namespace cloche::config {

// True when the document is such a file.
bool is_autograder(const Section& top);

// A profile for each of python, java, node, cpp and c, limited as the autograder limits them. The engine's options must
// be there already: on docker a profile has the autograder's image.
void read_autograder(Section& top, ManagerOptions& options);

}  // namespace cloche::config
