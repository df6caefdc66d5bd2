// UserNamespace: made before the runtime starts, and owned by a user that no other sandbox has.
//
// The kernel charges what it counts for a user namespace (inotify, fanotify, message queues, pending signals, locked
// memory, namespaces) to the namespace's owner as well. A namespace that a runtime makes is root's, and all sandboxes
// together would have what root has.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backend/oci/root/uid_ranges.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::oci {

class UserNamespace {
 public:
  // With the uids and gids of the range, from 0 on.
  static Result<UserNamespace> make(UidRange uids);

  // For mounts alone: what belongs to an id on a file system belongs to an id of the host, as a user and as a group,
  // and nothing else belongs to a user of the mount.
  struct MountedId {
    std::uint32_t stored = 0;
    uid_t uid = 0;
    gid_t gid = 0;
  };
  static Result<UserNamespace> make_for_mount(const std::vector<MountedId>& ids);

  int get() const { return fd_.get(); }
  // For processes of this host, as long as this object exists.
  std::string path() const;

 private:
  explicit UserNamespace(UniqueFd fd) : fd_(std::move(fd)) {}
  static Result<UserNamespace> make(uid_t owner, const std::string& uid_map, const std::string& gid_map);
  UniqueFd fd_;
};

}  // namespace cloche::oci
