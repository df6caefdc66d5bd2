// Cgroup: the limits and the counters of one sandbox, and the list of its processes that nothing inside can leave.
//
// A sandbox has the directory `<parent>/cloche/<instance>/<id>` in each hierarchy that holds memory, cpu or pids.
// Cloche makes and removes them itself, whatever the runtime and the layout, so that no limit depends on what a runtime
// can do.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/oci/cgroup/cgroup_layout.hpp"
#include "backend/oci/cgroup/device_filter.hpp"
#include "core/bytes.hpp"
#include "core/deadline.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "sandbox/backend.hpp"

namespace cloche::oci {

struct CgroupLimits {
  Bytes memory;
  double cpus = 1;  // 0: as many as there are
  std::uint32_t pids = 0;
};

// The sandbox's directory in one hierarchy.
struct CgroupPlace {
  CgroupVersion version = CgroupVersion::v1;
  std::vector<std::string> controllers;  // of those we need: memory, cpu, pids
  std::string parent;                    // an existing directory below which ours are made
  std::string own;                       // where Cloche itself is in this hierarchy; may be empty
  std::string directory;                 // the sandbox's

  bool has(std::string_view controller) const;
};

// How a process that is about to become a runtime gets into the sandbox's cgroups, with nothing but system calls.
struct CgroupEntrance {
  UniqueFd v2_directory;           // for clone3 with CLONE_INTO_CGROUP
  UniqueFd v2_procs;               // for the child to write "0" to, where clone3 may not be called
  std::vector<UniqueFd> v1_tasks;  // for the child to write "0" to
};

// The sandbox's directories in v1 hierarchies that limit nothing. Each is empty if there is no such hierarchy, or if it
// is not needed: v2 needs none of them.
struct CgroupExtras {
  std::string devices;  // entered by sandboxes with GPUs
  std::string freezer;
  std::string cpuacct;  // may be one of the places
};

class Cgroup {
 public:
  Cgroup(std::vector<CgroupPlace> places, std::vector<std::string> shadows, CgroupExtras extras = {});

  // Makes the directories, and on v2 switches the controllers on along the way.
  Status create() const;
  // Lets processes open only these devices. Before anything is inside; unsupported where this host cannot.
  Status limit_devices(const std::vector<DeviceRule>& rules) const;
  // Whether that holds for a process.
  Status check_devices(pid_t pid) const;
  Result<CgroupEntrance> open_entrance() const;
  // Writes each limit and reads it back; all of them hold afterwards, or the former ones and the error says why.
  // Memory that cannot be kept from swap is refused.
  Status set_limits(const CgroupLimits& limits) const;

  // Every process inside, of any of the hierarchies.
  Result<std::vector<pid_t>> processes() const;
  // True when the process is in all of the hierarchies' directories.
  Result<bool> holds(pid_t pid) const;

  Result<Evidence> evidence() const;
  // Memory that is charged to the sandbox and that the kernel cannot reclaim.
  Result<Bytes> memory_in_use() const;
  // Lets the peak start again from here, where the kernel can (v1).
  void restart_peak() const;
  // What all processes inside use, and have used.
  Result<ResourceUse> resource_use() const;

  // Stops every process inside, and returns when all have stopped; otherwise they continue. unsupported where this host
  // cannot. A frozen cgroup can be killed.
  Status freeze(Deadline deadline) const;
  // Lets them continue. Fine if they were not stopped.
  Status thaw(Deadline deadline) const;
  // Lets the kernel reclaim what it can, above all its copies of files.
  void release_memory() const;

  // Kills every process inside until there are none.
  Status kill_all(Deadline deadline) const;
  // Removes the directories, and those above that are ours and empty. Nothing there is fine.
  Status remove(Deadline deadline) const;

 private:
  // The sandbox's place in the v2 hierarchy, where it has one.
  std::optional<std::string> v2_directory() const;
  bool is_place(const std::string& directory) const;
  Status check_all_in(const std::string& directory) const;
  static Status make_extra(const std::string& directory);

  std::vector<CgroupPlace> places_;
  // The same path in hierarchies that we do not need: runc makes directories there.
  std::vector<std::string> shadows_;
  CgroupExtras v1_;
};

// All cgroups of one instance.
class CgroupTree {
 public:
  // Finds where memory, cpu and pids are limited; unsupported, with what to do, when one of them cannot be.
  static Result<CgroupTree> open(const CgroupLayout& layout, std::string_view proc_self_cgroup, std::string instance);

  Cgroup at(const std::string& id) const;
  // The value of `cgroupsPath` in a runtime's configuration, so that it finds our directories.
  std::string path_for_runtime(const std::string& id) const;
  // The ids that have a directory in any hierarchy.
  std::vector<std::string> ids() const;
  // Every directory of a sandbox, and every instance's own that has none, of all instances.
  struct OwnedDirectory {
    std::string instance;
    std::string path;
  };
  std::vector<OwnedDirectory> all_directories() const;
  // Removes this instance's own directories, where nothing is in them any more.
  void remove_empty() const;

 private:
  // The directories that hold those of instances, one in each hierarchy.
  std::vector<std::string> tops() const;

  std::vector<CgroupPlace> places_;   // without directory
  std::vector<std::string> shadows_;  // mount points of the other hierarchies
  CgroupExtras extras_;               // the directories that hold Cloche's
  std::string instance_;
  std::string runtime_prefix_;
};

}  // namespace cloche::oci
