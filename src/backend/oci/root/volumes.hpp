// Volumes of a sandbox: whose their files are, and how their mounts get into a sandbox that is running.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/oci/process_identity.hpp"
#include "core/result.hpp"
#include "sandbox/volume_mount.hpp"

namespace cloche::oci {

struct VolumeUsers {
  // The ids of the host that the sandbox's programs have. What belongs to `stored` on a volume belongs to them.
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint32_t stored = 1000;
  // The sandbox's root, where a process of root serves files to programs, as gVisor's does: it creates each file as its
  // own, and then hands it over. On a volume it has an id of its own, so that a file of the host's root belongs to no
  // user of the sandbox there, either.
  std::optional<std::uint32_t> server;
  std::uint32_t stored_server = 1001;
};

// Maps the owners of files on mounts that have no place yet. unsupported if this kernel cannot.
Status map_owners(const VolumeUsers& users, const std::vector<MountedVolume>& volumes);

// Whether a target is below /volumes.
bool is_named(const VolumeMount& volume);

// A target below /volumes is made; any other is a directory of the sandbox already. No link is followed on the way to
// one. `first` is process 1 of the sandbox. On an error some may be there already: the sandbox is not to be used.
// unsupported if this kernel cannot map the owners of files for a mount.
Status attach_volumes(const ProcessIdentity& first, const VolumeUsers& users,
                      const std::vector<MountedVolume>& volumes);

}  // namespace cloche::oci
