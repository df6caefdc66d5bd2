// Volumes of a sandbox that is running: their mounts are put into its mount namespace from outside.
#pragma once

#include <vector>

#include "backend/oci/process_identity.hpp"
#include "core/result.hpp"
#include "sandbox/volume_mount.hpp"

namespace cloche::oci {

struct VolumePlace {
  ProcessIdentity first;  // process 1 of the sandbox
  // The ids of the host that the sandbox's programs have. What belongs to `stored` on a volume belongs to them.
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint32_t stored = 1000;
};

// A target below /volumes is made; any other is a directory of the sandbox already. No link is followed on the way to
// one. On an error some may be there already: the sandbox is not to be used. unsupported if this kernel cannot map the
// owners of files for a mount.
Status attach_volumes(const VolumePlace& place, const std::vector<MountedVolume>& volumes);

}  // namespace cloche::oci
