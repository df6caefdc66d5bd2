// CgroupLayout: where this host keeps its cgroup hierarchies, read from /proc/self/mountinfo. No I/O here.
//
// Version 1 has a hierarchy for each controller (or a few), version 2 has one for all, and a hybrid host has both, with
// every controller in one place or the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cloche::oci {

enum class CgroupVersion { v1, v2 };

struct CgroupMount {
  CgroupVersion version = CgroupVersion::v1;
  std::string mount_point;
  std::string root;                      // which part of the hierarchy is seen at the mount point; "/" for all of it
  std::vector<std::string> controllers;  // v1 only: what the mount's options name, such as cpu, cpuacct, name=systemd

  bool has(std::string_view controller) const;
};

struct CgroupLayout {
  std::vector<CgroupMount> mounts;  // each hierarchy once

  // The v1 hierarchy of a controller, or nullptr.
  const CgroupMount* v1(std::string_view controller) const;
  // The v2 hierarchy, or nullptr.
  const CgroupMount* v2() const;
  // "v1", "v2", "hybrid" or "none".
  std::string_view kind() const;
};

CgroupLayout parse_cgroup_layout(std::string_view mountinfo);

// Where a process's own cgroup of this hierarchy is, as a directory below the mount point; empty when the mount does
// not show it. `proc_cgroup` is the text of /proc/<pid>/cgroup.
std::string own_cgroup_directory(const CgroupMount& mount, std::string_view proc_cgroup);

}  // namespace cloche::oci
