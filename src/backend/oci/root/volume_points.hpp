// Where the volumes of a sandbox that is created with them are mounted. No I/O.
//
// gVisor has two views of a sandbox's files, and each needs the directory of a volume: the process that serves files
// mounts below the root skeleton, where nothing can be made for one sandbox alone; programs see file systems in memory
// that are in gVisor's kernel, where gVisor makes directories as root.
#pragma once

#include <string>
#include <vector>

#include "backend/oci/root/root_layout.hpp"
#include "sandbox/spec.hpp"
#include "sandbox/volume_mount.hpp"

namespace cloche::oci {

struct VolumePoints {
  struct Point {
    std::string path;
    PathKind kind = PathKind::directory;
  };

  std::vector<std::string> named;    // names of directories in /volumes
  std::string cover;                 // a directory of the root that is covered, to make points in it; empty: none
  std::vector<Point> in_cover;       // in the root, each after its parent; also those of the caller's mounts
  std::vector<std::string> opened;   // directories that gVisor makes: those that its user must be able to write to
  std::vector<std::string> on_disk;  // on the sandbox's disk (disk/store.hpp), each after its parent
};

VolumePoints points_for(const SandboxSpec& spec, const std::vector<MountedVolume>& volumes,
                        const std::vector<SourcedMount>& mounts);

}  // namespace cloche::oci
