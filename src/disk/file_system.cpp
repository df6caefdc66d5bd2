#include "disk/file_system.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/fault_point.hpp"

namespace cloche::disk {

namespace {

Status configure(int context, const LoopDevice& device, Deleted deleted, Access access) {
  const auto flag = [context](const char* name) {
    return ::fsconfig(context, FSCONFIG_SET_FLAG, name, nullptr, 0) == 0;
  };
  const auto text = [context](const char* name, const char* value) {
    return ::fsconfig(context, FSCONFIG_SET_STRING, name, value, 0) == 0;
  };
  // The inode tables of a new file are zero already. An error of the disk concerns its sandbox alone.
  const bool set = text("source", device.path().c_str()) && flag("noinit_itable") && text("errors", "remount-ro") &&
                   (deleted == Deleted::kept || flag("discard")) && (access == Access::read_write || flag("ro"));
  if (!set) return fail_errno("prepare to mount an image");
  if (::fsconfig(context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0) return {};
  if (errno == ENODEV || errno == EINVAL || errno == EPERM) {
    const Error error = errno_error("mount an image", errno);
    return fail(ErrorCode::unsupported, error.message + "; disks need ext4 in the kernel and CAP_SYS_ADMIN");
  }
  return fail_errno("mount an image");
}

}  // namespace

Result<UniqueFd> mount_detached(const LoopDevice& device, Deleted deleted, Access access) {
  const UniqueFd context(::fsopen("ext4", FSOPEN_CLOEXEC));
  if (!context) {
    const Error error = errno_error("open ext4", errno);
    return fail(ErrorCode::unsupported, error.message + "; disks need ext4 in the kernel and CAP_SYS_ADMIN");
  }
  CLOCHE_CHECK(configure(context.get(), device, deleted, access));
  const unsigned attributes =
      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (access == Access::read_only ? MOUNT_ATTR_RDONLY : 0U);
  UniqueFd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, attributes));
  if (!mount) return fail_errno("mount an image");
  fault_point<"disk.mounted">();
  return mount;
}

Status add_directory(int mount, const char* name, Owner owner) {
  if (::mkdirat(mount, name, 0755) != 0) return fail_errno("create a directory on a disk");
  const UniqueFd directory(::openat(mount, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return fail_errno("open a directory on a disk");
  // The umask may have taken bits away.
  if (::fchmod(directory.get(), 0755) != 0) return fail_errno("chmod a directory on a disk");
  if (::fchown(directory.get(), owner.uid, owner.gid) != 0) return fail_errno("chown a directory on a disk");
  return {};
}

}  // namespace cloche::disk
