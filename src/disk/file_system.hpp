// The file system of an image, mounted where no process sees it.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "disk/loop_device.hpp"

namespace cloche::disk {

// Whether the blocks of deleted files are returned to the host.
enum class Deleted { returned, kept };

// The mount, without a place: it goes with its descriptor unless it is moved to one. Nothing on it has the effect of a
// device or of a setuid program. The device may be released afterwards.
Result<UniqueFd> mount_detached(const LoopDevice& device, Deleted deleted, Access access = Access::read_write);

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
};

// Makes a directory below the top of the file system. Its mode is 0755.
Status add_directory(int mount, const char* name, Owner owner);

}  // namespace cloche::disk
