// Moves between two file systems: a copy that appears whole, then the removal of what was copied.
#pragma once

#include "agent/files/resolve.hpp"
#include "core/result.hpp"

namespace cloche::agent {

enum class Existing { keep, replace };

// Files, links and trees of these; modes and times are kept, hard links become files of their own. A name that is taken
// is already_exists, or replaced by Existing::replace unless one of the two is a directory. An error before the copy
// is complete leaves everything as it was; one while the source is removed says that both are there.
Status move_across(const Place& from, const Place& to, Existing existing);

}  // namespace cloche::agent
