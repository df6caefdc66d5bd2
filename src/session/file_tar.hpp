// Files as a tar stream, which is what an agent unpacks all of or nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/files.hpp"

namespace cloche::session {

struct FileToPack {
  std::string path;  // relative; directories on the way are made
  std::string content;
  std::uint32_t mode = 0644;
};

// Each file is let go of once it is under way.
Files::Source tar_of(std::vector<FileToPack> files);

}  // namespace cloche::session
