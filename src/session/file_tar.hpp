// Files as a tar stream, which is what an agent unpacks all of or nothing.
#pragma once

#include "cloche/submission.hpp"
#include "sandbox/files.hpp"

namespace cloche::session {

// Paths are relative; directories on the way are made. Each file is let go of once it is under way.
Files::Source tar_of(FileTree files);

}  // namespace cloche::session
