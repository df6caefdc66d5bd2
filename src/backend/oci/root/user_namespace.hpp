// UserNamespace: made before the runtime starts, and owned by a user that no other sandbox has.
//
// The kernel charges what it counts for a user namespace (inotify, fanotify, message queues, pending signals, locked
// memory, namespaces) to the namespace's owner as well. A namespace that a runtime makes is root's, and all sandboxes
// together would have what root has.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "backend/oci/root/uid_ranges.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::oci {

class UserNamespace {
 public:
  // With the uids and gids of the range, from 0 on.
  static Result<UserNamespace> make(UidRange uids);

  // For mounts alone: what belongs to `inside` on a file system belongs to these ids of the host, and nothing else
  // belongs to a user of the mount.
  static Result<UserNamespace> make_for_mount(std::uint32_t inside, uid_t uid, gid_t gid);

  int get() const { return fd_.get(); }
  // For processes of this host, as long as this object exists.
  std::string path() const;

 private:
  explicit UserNamespace(UniqueFd fd) : fd_(std::move(fd)) {}
  static Result<UserNamespace> make(uid_t owner, const std::string& uid_map, const std::string& gid_map);
  UniqueFd fd_;
};

}  // namespace cloche::oci
