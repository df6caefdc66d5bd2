// VolumeMount: a volume that a sandbox has; see volume/store.hpp.
#pragma once

#include <string>
#include <utility>

#include "cloche/spec.hpp"
#include "core/unique_fd.hpp"

namespace cloche {

// Where volumes are unless a caller chooses another place. Every root has this directory, empty.
inline constexpr const char* volumes_directory = "/volumes";

struct VolumeMount {
  std::string tenant;  // whose it is
  std::string name;
  std::string target;  // in the sandbox
  Access access = Access::read_only;

  bool operator==(const VolumeMount&) const = default;
};

// When a sandbox can get volumes.
enum class VolumeTime {
  while_running,  // Enclosure::attach
  at_creation,    // Backend::create_with_volumes: what it mounts is decided when it starts
};

// One that is ready for a sandbox: its file system, mounted where no process sees it.
struct MountedVolume {
  VolumeMount volume;
  UniqueFd mount;
};

}  // namespace cloche
