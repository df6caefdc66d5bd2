#include "backend/oci/runtime/command.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/child.hpp"
#include "process/descriptors.hpp"
#include "process/programs.hpp"

namespace cloche::oci {

namespace {

constexpr Bytes kept_output = kib(64);

// Steps of the child; see process::Step.

// The context is a descriptor of a cgroup's file.
CLOCHE_IN_CHILD const char* enter_cgroup(const void* context) {
  const auto& file = *static_cast<const UniqueFd*>(context);
  return ::write(file.get(), "0", 1) == 1 ? nullptr : "enter the cgroup";
}

// The kernel counts these for all user namespaces together, up to what their maker may have. Programs have limits of
// their own, so that one sandbox cannot use up what its neighbours need.
CLOCHE_IN_CHILD const char* raise_limits(const void*) {
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  ::setrlimit(RLIMIT_MSGQUEUE, &unlimited);
  ::setrlimit(RLIMIT_SIGPENDING, &unlimited);
  return nullptr;
}

CLOCHE_IN_CHILD const char* part_from_mounts(const void*) {
  // Later mounts of the host are visible here; mounts made here are not visible to the host.
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 ? nullptr : "part from the mounts";
}

CLOCHE_IN_CHILD bool change_mount(const char* target, unsigned flags, std::uint64_t set, std::uint64_t clear) {
  mount_attr attributes = {};
  attributes.attr_set = set;
  attributes.attr_clr = clear;
  return ::syscall(SYS_mount_setattr, AT_FDCWD, target, flags, &attributes, sizeof attributes) == 0;
}

CLOCHE_IN_CHILD bool make_file(const char* path) {
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  ::close(fd);
  return true;
}

// The context is a MountStep.
CLOCHE_IN_CHILD const char* do_mount(const void* context) {
  const auto& step = *static_cast<const MountStep*>(context);
  const char* source = step.source.c_str();
  const char* target = step.target.c_str();
  constexpr unsigned restrictions = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  switch (step.kind) {
    case MountStep::Kind::detach: return ::umount2(target, MNT_DETACH) == 0 ? nullptr : "hide a mount";
    case MountStep::Kind::tmpfs:
      return ::mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711,size=64k") == 0 ? nullptr
                                                                                                : "mount a stage";
    case MountStep::Kind::make_directory: return ::mkdir(target, 0755) == 0 ? nullptr : "create a mount point";
    case MountStep::Kind::make_file: return make_file(target) ? nullptr : "create a mount point";
    case MountStep::Kind::bind:
      return ::mount(source, target, nullptr, MS_BIND | MS_REC, nullptr) == 0 ? nullptr : "show a source";
    case MountStep::Kind::attach:
      return ::move_mount(step.mount->get(), "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) == 0 ? nullptr
                                                                                                 : "attach a disk";
    case MountStep::Kind::protect:
      return change_mount(target, AT_RECURSIVE, MOUNT_ATTR_RDONLY, 0) ? nullptr : "protect a source";
    case MountStep::Kind::free: return change_mount(target, 0, 0, restrictions) ? nullptr : "show the root";
  }
  return nullptr;
}

void add_cgroup_steps(process::Spec& spec, const CgroupEntrance& entrance) {
  if (entrance.v2_directory) spec.cgroup = entrance.v2_directory.get();
  // Where a filter around Cloche itself hides clone3, the child moves into the cgroup, which takes longer.
  auto& moves = entrance.v2_directory ? spec.instead_of_cgroup : spec.steps;
  if (entrance.v2_procs) moves.push_back({enter_cgroup, &entrance.v2_procs});
  for (const UniqueFd& tasks : entrance.v1_tasks) spec.steps.push_back({enter_cgroup, &tasks});
}

process::Spec spec_of(const Command& command) {
  process::Spec spec;
  spec.program = command.program;
  spec.argv = {command.program};
  spec.argv.insert(spec.argv.end(), command.arguments.begin(), command.arguments.end());
  spec.environment = {"PATH=" + std::string(process::system_path)};
  spec.in = command.in;
  spec.limits = command.limits;
  if (command.entrance != nullptr) add_cgroup_steps(spec, *command.entrance);
  if (!command.private_mounts.empty()) {
    spec.namespaces = CLONE_NEWNS;
    spec.steps.push_back({part_from_mounts, nullptr});
  }
  for (const MountStep& step : command.private_mounts) spec.steps.push_back({do_mount, &step});
  spec.steps.push_back({raise_limits, nullptr});
  return spec;
}

}  // namespace

Result<CommandEnd> run_command(const Command& command, Deadline deadline) {
  UniqueFd kept;
  if (command.err < 0) {
    CLOCHE_TRY(kept, process::make_bounded_memory(kept_output));
  }
  process::Spec spec = spec_of(command);
  spec.err = command.err < 0 ? kept.get() : command.err;
  spec.out = command.out < 0 ? spec.err : command.out;
  CLOCHE_TRY(process::Child child, process::Child::start(spec));
  CLOCHE_TRY(const process::Ended end, child.finish(deadline));
  return CommandEnd{end.exit_code(), process::read_bounded_memory(spec.err)};
}

}  // namespace cloche::oci
