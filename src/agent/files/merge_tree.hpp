// Moves the content of one directory into another, directories merged, names replaced.
#pragma once

#include "core/result.hpp"

namespace cloche::agent {

enum class Merge {
  check,  // only finds out what would be in the way
  move,
};

// Both directories lie on one file system. A directory is merged into a directory of its name, which keeps its own
// mode; a file or link replaces a file or link. already_exists when one is a directory and the other not, and in the
// place of a FIFO or the like; a link to a directory counts as a link. A file that the user may not write to is
// permission_denied, unless forced.
enum class ReadOnlyFiles { keep, replace };
Status merge_tree(int from, int to, Merge merge, ReadOnlyFiles read_only);

}  // namespace cloche::agent
