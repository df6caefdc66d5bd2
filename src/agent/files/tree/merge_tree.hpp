// Moves the content of one directory into another, directories merged, names replaced.
#pragma once

#include "core/result.hpp"

namespace cloche::agent {

enum class Merge {
  check,  // only finds out what would be in the way
  move,
};

// Both directories are on one file system. A directory is merged into the directory of the same name, which keeps its
// own mode; a file or link replaces a file or link. already_exists if only one of them is a directory, or for a FIFO
// and the like; a link to a directory counts as a link. A file that the user cannot write to is permission_denied,
// unless forced.
enum class ReadOnlyFiles { keep, replace };
Status merge_tree(int from, int to, Merge merge, ReadOnlyFiles read_only);

}  // namespace cloche::agent
