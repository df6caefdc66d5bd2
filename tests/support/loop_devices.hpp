// Images of disks that a test makes: where they are, and the loop devices of those below a directory.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace cloche::testing_support {

// On disk, also when the other files of tests are in memory.
inline std::filesystem::path directory_of_images() {
  const char* chosen = std::getenv("CLOCHE_TEST_DISK_DIR");
  return chosen != nullptr ? std::filesystem::path(chosen) : std::filesystem::temp_directory_path();
}

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
