#include "backend/oci/cgroup/cgroup_layout.hpp"

#include <algorithm>

#include "backend/oci/root/mountinfo.hpp"

namespace cloche::oci {

namespace {

bool same_hierarchy(const CgroupMount& a, const CgroupMount& b) {
  return a.version == b.version && a.controllers == b.controllers;
}

bool is_at_or_below(std::string_view path, std::string_view place) {
  return path == place || (path.starts_with(place) && path.size() > place.size() && path[place.size()] == '/');
}

}  // namespace

bool CgroupMount::has(std::string_view controller) const {
  return std::ranges::find(controllers, controller) != controllers.end();
}

const CgroupMount* CgroupLayout::v1(std::string_view controller) const {
  const auto found = std::ranges::find_if(
      mounts, [&](const CgroupMount& mount) { return mount.version == CgroupVersion::v1 && mount.has(controller); });
  return found == mounts.end() ? nullptr : &*found;
}

const CgroupMount* CgroupLayout::v2() const {
  const auto found = std::ranges::find(mounts, CgroupVersion::v2, &CgroupMount::version);
  return found == mounts.end() ? nullptr : &*found;
}

std::string_view CgroupLayout::kind() const {
  const bool has_v1 = std::ranges::find(mounts, CgroupVersion::v1, &CgroupMount::version) != mounts.end();
  if (v2() == nullptr) return has_v1 ? "v1" : "none";
  return has_v1 ? "hybrid" : "v2";
}

CgroupLayout parse_cgroup_layout(std::string_view mountinfo) {
  CgroupLayout layout;
  for (const MountedPlace& place : parse_mountinfo(mountinfo)) {
    CgroupMount mount;
    mount.root = place.root;
    mount.mount_point = place.mount_point;
    if (place.type == "cgroup2") {
      mount.version = CgroupVersion::v2;
    } else if (place.type == "cgroup") {
      for (std::string& option : split(place.options, ',')) {
        if (option != "rw" && option != "ro" && option != "xattr") mount.controllers.push_back(std::move(option));
      }
    } else {
      continue;
    }
    // A hierarchy may be mounted again elsewhere, such as for containers: the mount that shows all of it is the host's.
    const auto seen =
        std::ranges::find_if(layout.mounts, [&](const CgroupMount& other) { return same_hierarchy(other, mount); });
    if (seen == layout.mounts.end()) {
      layout.mounts.push_back(std::move(mount));
    } else if (seen->root != "/" && mount.root == "/") {
      *seen = std::move(mount);
    }
  }
  return layout;
}

std::string own_cgroup_directory(const CgroupMount& mount, std::string_view proc_cgroup) {
  for (const std::string& line : split(proc_cgroup, '\n')) {
    // 4:memory:/some/path, and 0::/some/path for v2
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    const bool is_v2 = names.empty() && line.starts_with("0:");
    const bool is_this =
        mount.version == CgroupVersion::v2
            ? is_v2
            : !is_v2 && std::ranges::all_of(split(names, ','), [&](const auto& name) { return mount.has(name); });
    if (!is_this) continue;
    if (mount.root == "/") return path == "/" ? mount.mount_point : mount.mount_point + path;
    if (!is_at_or_below(path, mount.root)) return {};
    return mount.mount_point + path.substr(mount.root.size());
  }
  return {};
}

}  // namespace cloche::oci
