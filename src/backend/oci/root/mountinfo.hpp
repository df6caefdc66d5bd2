// The mounts in the text of /proc/self/mountinfo.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cloche::oci {

struct MountedPlace {
  std::string root;  // which part of the file system is seen
  std::string mount_point;
  std::string type;
  std::string options;  // of the file system itself, separated by commas
};

// Invalid lines are skipped.
std::vector<MountedPlace> parse_mountinfo(std::string_view text);

// The parts between a character; of "a,,b" the second is empty.
std::vector<std::string> split(std::string_view text, char at);

}  // namespace cloche::oci
