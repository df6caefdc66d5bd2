// Moves between two file systems: a copy that appears whole, then the removal of what was copied.
#pragma once

#include "agent/files/tree/resolve.hpp"
#include "core/result.hpp"

namespace cloche::agent {

enum class Existing { keep, replace };

// Moves files, links and trees of these. Modes and times are kept, hard links become separate files. An existing name
// is already_exists, or is replaced with Existing::replace unless one of them is a directory. An error before the copy
// is complete leaves everything unchanged; an error while the source is removed reports that both exist.
Status move_across(const Place& from, const Place& to, Existing existing);

}  // namespace cloche::agent
