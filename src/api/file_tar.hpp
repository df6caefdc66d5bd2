// Files as a tar stream, which is what the agent unpacks all of or nothing.
#pragma once

#include <vector>

#include "api/file_bodies.hpp"
#include "sandbox/files.hpp"

namespace cloche::api {

// Paths are relative, of files. Each file is let go of once it is under way.
Files::Source tar_of(std::vector<FileToCopy> files);

}  // namespace cloche::api
