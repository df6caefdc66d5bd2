#include "agent/files/tree/kernel_files.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <iterator>

namespace cloche::agent {

namespace {

// Not in every version of linux/magic.h.
constexpr long configfs_magic = 0x62656570;
constexpr long mqueue_magic = 0x19800202;
constexpr long fuse_control_magic = 0x65735543;

constexpr long kernel_types[] = {
    PROC_SUPER_MAGIC, SYSFS_MAGIC,        CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,  DEBUGFS_MAGIC,
    TRACEFS_MAGIC,    SECURITYFS_MAGIC,   BPF_FS_MAGIC,       PSTOREFS_MAGIC,       EFIVARFS_MAGIC,
    SELINUX_MAGIC,    SMACK_MAGIC,        DEVPTS_SUPER_MAGIC, NSFS_MAGIC,           BINFMTFS_MAGIC,
    configfs_magic,   fuse_control_magic, mqueue_magic,       RDTGROUP_SUPER_MAGIC,
};

}  // namespace

bool is_kernel_file_system(int fd) {
  struct statfs status = {};
  if (::fstatfs(fd, &status) != 0) return false;
  return std::ranges::find(kernel_types, static_cast<long>(status.f_type)) != std::end(kernel_types);
}

}  // namespace cloche::agent
