// Attacks on what is mounted, on files of the host and of others, on /proc, and on places to write. Those that need the
// server's hand at the same time are in race_cases.cpp.
#include "hostile/sandbox/attack.hpp"

namespace cloche::hostile {

std::vector<Attack> file_attacks() {
  return {
      {.name = "DeviceNodes_CannotBeMade",
       .argv = {"files/mknod"},
       // Nodes of its own kernel, which has none of these devices.
       .harmless_on_gvisor = {"mknod", "open a device node"},
       .weak = {.holes = 40}},
      {.name = "DeviceNodes_AreTheHarmlessOnes",
       .argv = {"files/devices.py"},
       .harmless_on_gvisor = {"/dev/fuse", "/dev/net/tun"}},
      {.name = "KernelSettings_CannotBeWritten", .argv = {"files/proc_write"}, .weak = {.holes = 20}},
      {.name = "KernelMemoryAndSymbols_CannotBeRead",
       .argv = {"files/proc_read"},
       .harmless_on_docker = {"/sys/kernel/notes"},  // the build's name
       .weak = {.holes = 4}},
      {.name = "ProcOfOthers_IsClosed",
       .argv = {"files/proc_agent"},
       // Of the agent and its supervisors, whose environment is a PATH. Memory, descriptors and root stay closed.
       .harmless_on_gvisor = {"/environ opens", "/maps opens", "/smaps opens", "/auxv opens", "/fdinfo/", "/ns/"},
       .weak = {.holes = 10}},
      {.name = "FileThatMayBeRead_CannotBeChanged", .argv = {"files/dirty_cow"}},
      {.name = "UserNamespaceMaps_CannotBeWritten",
       .argv = {"files/uid_map"},
       .harmless_on_gvisor = {"unshare a user namespace", "root of a namespace"}},
      {.name = "DescriptorsOfOthers_AreNotLeftOpen", .argv = {"files/leaked_fds"}},
      {.name = "WaysUp_EndAtItsOwnRoot", .argv = {"files/walk_out"}, .weak = {.holes = 3}},
      {.name = "ProgramsOfAgentAndRuntime_CannotBeReplaced",
       .argv = {"files/runtime_exe"},
       .weak = {.more = {"/weak/init"}, .holes = 2}},
      {.name = "FileHandles_OpenNothing",
       .argv = {"files/handle"},
       .harmless_on_gvisor = {"(Operation not supported)"}},
      {.name = "Mounts_CannotBeMade", .argv = {"files/mounts", "classic"}, .weak = {.holes = 4}},
      {.name = "Mounts_CannotBeMadeWritable", .argv = {"files/mounts", "remount"}, .weak = {.holes = 4}},
      {.name = "MaskedPaths_CannotBeUncovered", .argv = {"files/mounts", "unmask"}, .weak = {.holes = 3}},
      {.name = "NewMountCalls_AreRefused", .argv = {"files/mounts", "api"}, .weak = {.holes = 3}},
      {.name = "OverlaysAndFuse_CannotBeMounted", .argv = {"files/mounts", "overlay"}},
      {.name = "CgroupFileSystems_CannotBeMounted", .argv = {"files/mounts", "cgroup"}},
      {.name = "AttributesThatMeanPower_CannotBeSet", .argv = {"files/xattrs"}, .weak = {.holes = 2}},
      {.name = "SetuidPrograms_GiveNothing", .argv = {"files/suid"}, .weak = {.uid = 1000, .holes = 2}},
      {.name = "Inodes_AreLimited",
       .argv = {"files/inode_flood"},
       .harmless_on_gvisor = {"inodes and no end"},  // its file systems count none; the sandbox's memory ends it
       .ends_gvisor = true,
       .weak = {.holes = 3}},
      {.name = "Space_IsLimited", .argv = {"files/disk_fill"}, .memory = mib(512), .weak = {.holes = 3}},
      {.name = "FilesThatClaimTerabytes_AreRefused", .argv = {"files/sparse"}, .weak = {.holes = 2}},
      {.name = "DirectoriesOfOthers_CannotBeWritten", .argv = {"files/write_everywhere.py"}, .weak = {.holes = 5}},
      {.name = "FilesOfTheHost_CannotBeFound", .argv = {"files/find_canary.py"}},
  };
}

}  // namespace cloche::hostile
