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
  std::uint32_t mode = 0;  // 0: that of the file it replaces, 0644 if there is none
};

// Each file is let go of once it is under way. Sets in the caps what the agent has to know of modes.
Files::Source tar_for(const Files& agent, std::vector<FileToPack> files, TarCaps& caps);

}  // namespace cloche::session
