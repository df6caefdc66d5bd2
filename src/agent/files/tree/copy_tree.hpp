// Copies files and trees from one place of the sandbox to another, by descriptor.
#pragma once

#include <string>

#include "agent/files/tree/resolve.hpp"
#include "core/result.hpp"

namespace cloche::agent {

// Copies content, mode and time of the regular file with this name into an open empty one. invalid_argument if it is
// not a regular file.
Status copy_file_into(int parent, const char* name, int into);

// The directory `from` with all below it, as `name` in `parent`, where nothing has that name. What fails leaves a part
// of it there. FIFOs, sockets and devices are invalid_argument, as are mounts below; limit_reached for trees deeper
// than 256.
Status copy_tree(const Place& from, int parent, const std::string& name);

}  // namespace cloche::agent
