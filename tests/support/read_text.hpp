// read_text: the text of a file, for tests. Empty if there is none, and as much as could be read if reading fails: a
// file of /proc can be opened and then belong to a process that is gone, for which std::istreambuf_iterator throws.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace cloche::testing_support {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace cloche::testing_support
