#include "backend/oci/root/volumes.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "backend/oci/root/user_namespace.hpp"
#include "core/fault_point.hpp"
#include "process/borrowed_clone.hpp"
#include "process/descriptors.hpp"
#include "process/spec.hpp"

namespace cloche::oci {

namespace {

// What the process in the sandbox's mount namespace does: one mount at one directory.
struct Attachment {
  int mount;
  const char* target;
};

struct AttachOutcome {
  std::size_t attached = 0;
  int error = 0;  // of the next one
};

struct EntrancePlan {
  int process;  // a pidfd of the sandbox's process 1
  const Attachment* attachments;
  std::size_t count;
  int report;  // the outcome is written here
};

CLOCHE_IN_CHILD int attach_one(const Attachment& attachment) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const auto target = static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, attachment.target, &how, sizeof how));
  if (target < 0) return errno;
  const long moved =
      ::syscall(SYS_move_mount, attachment.mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
  const int error = moved == 0 ? 0 : errno;
  ::syscall(SYS_close, target);
  return error;
}

// Shares memory with a process that has threads: nothing but system calls. It has a copy of the descriptors, and a root
// directory of its own, so that it can enter a mount namespace.
CLOCHE_IN_CHILD int enter_and_attach(void* argument) {
  const EntrancePlan& plan = *static_cast<const EntrancePlan*>(argument);
  AttachOutcome outcome;
  if (::syscall(SYS_setns, plan.process, CLONE_NEWNS) != 0) outcome.error = errno;
  while (outcome.error == 0 && outcome.attached < plan.count) {
    outcome.error = attach_one(plan.attachments[outcome.attached]);
    if (outcome.error == 0) ++outcome.attached;
  }
  (void)!::write(plan.report, &outcome, sizeof outcome);
  ::_exit(0);
}

Status run_in_sandbox(const UniqueFd& process, const std::vector<Attachment>& attachments) {
  CLOCHE_TRY(process::Pipe report, process::make_pipe());
  EntrancePlan plan{process.get(), attachments.data(), attachments.size(), report.write.get()};
  const process::ChildStack stack(64 * 1024);
  if (!stack) return fail_errno("map a stack");
  const pid_t child = process::clone_borrowing(enter_and_attach, &plan, stack, CLONE_VFORK);
  if (child < 0) return fail_errno("start a process");
  while (::waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  report.write.reset();
  AttachOutcome outcome;
  if (::read(report.read.get(), &outcome, sizeof outcome) != static_cast<ssize_t>(sizeof outcome)) {
    return fail(ErrorCode::internal, "attach a volume: a process ended immediately");
  }
  if (outcome.error == 0) return {};
  return fail(errno_error("attach a volume at " + std::string(attachments[outcome.attached].target), outcome.error));
}

Status map_owners_of(int mount, const UserNamespace& users) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_IDMAP;
  attributes.userns_fd = static_cast<__u64>(users.get());
  if (::mount_setattr(mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0) return {};
  if (errno == EINVAL || errno == ENOSYS || errno == EPERM) {
    return fail(ErrorCode::unsupported,
                "this kernel cannot map the owners of files on a volume; volumes need Linux "
                "5.12 or later and root on the host");
  }
  return fail_errno("map the owners of files on a volume");
}

// A small file system in memory with a directory for each volume below /volumes; none if there is no such volume.
Result<UniqueFd> make_volume_directories(const std::vector<MountedVolume>& volumes) {
  UniqueFd mount;
  for (const MountedVolume& each : volumes) {
    if (!is_named(each.volume)) continue;
    if (!mount) {
      const UniqueFd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
      const bool made = context && ::fsconfig(context.get(), FSCONFIG_SET_STRING, "size", "64k", 0) == 0 &&
                        ::fsconfig(context.get(), FSCONFIG_SET_STRING, "mode", "0755", 0) == 0 &&
                        ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0;
      if (made) {
        constexpr unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
        mount.reset(::fsmount(context.get(), FSMOUNT_CLOEXEC, attributes));
      }
      if (!mount) return fail_errno("make the directory of volumes");
    }
    const std::string name = each.volume.target.substr(std::string_view(volumes_directory).size() + 1);
    if (::mkdirat(mount.get(), name.c_str(), 0755) != 0) return fail_errno("make the directory of a volume");
    // The umask may have taken bits away.
    if (::fchmodat(mount.get(), name.c_str(), 0755, 0) != 0) return fail_errno("make the directory of a volume");
  }
  if (mount) {
    mount_attr read_only{};
    read_only.attr_set = MOUNT_ATTR_RDONLY;
    if (::mount_setattr(mount.get(), "", AT_EMPTY_PATH, &read_only, sizeof read_only) != 0) {
      return fail_errno("make the directory of volumes read-only");
    }
  }
  return mount;
}

}  // namespace

bool is_named(const VolumeMount& volume) { return volume.target.starts_with(std::string(volumes_directory) + "/"); }

Status map_owners(const VolumeUsers& users, const std::vector<MountedVolume>& volumes) {
  std::vector<UserNamespace::MountedId> ids;
  if (users.server) ids.push_back({.stored = users.stored_server, .uid = *users.server, .gid = *users.server});
  ids.push_back({.stored = users.stored, .uid = users.uid, .gid = users.gid});
  CLOCHE_TRY(const UserNamespace map, UserNamespace::make_for_mount(ids));
  for (const MountedVolume& each : volumes) CLOCHE_CHECK(map_owners_of(each.mount.get(), map));
  fault_point<"backend.volumes.mapped">();
  return {};
}

Status attach_volumes(const ProcessIdentity& first, const VolumeUsers& users,
                      const std::vector<MountedVolume>& volumes) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, first.pid, 0)));
  // The number may have been used again before it was opened, but not after.
  if (!process || !is_alive(first)) return fail(ErrorCode::sandbox_lost, "the sandbox has ended");
  CLOCHE_TRY(const UniqueFd directories, make_volume_directories(volumes));
  CLOCHE_CHECK(map_owners(users, volumes));
  std::vector<Attachment> attachments;
  if (directories) attachments.push_back({directories.get(), volumes_directory});
  for (const MountedVolume& each : volumes) {
    attachments.push_back({each.mount.get(), each.volume.target.c_str()});
  }
  CLOCHE_CHECK(run_in_sandbox(process, attachments));
  fault_point<"backend.volumes.attached">();
  return {};
}

}  // namespace cloche::oci
