// Loop devices whose images are below a directory of a test.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace cloche::testing_support {

inline std::vector<std::string> loop_devices_of(const std::string& directory) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block")) {
    std::ifstream file(entry.path() / "loop/backing_file");
    std::string line;
    if (std::getline(file, line) && line.starts_with(directory)) found.push_back(entry.path().filename());
  }
  return found;
}

}  // namespace cloche::testing_support
