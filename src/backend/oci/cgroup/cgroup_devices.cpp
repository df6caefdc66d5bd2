// The devices of a sandbox's processes, where it has more than the harmless ones.
#include <sys/stat.h>

#include <cerrno>
#include <sstream>

#include "backend/oci/cgroup/cgroup.hpp"
#include "backend/oci/files.hpp"

namespace cloche::oci {

namespace {

// The directory and the two above it that are Cloche's. Another sandbox's end may take these away at any moment.
Status make_devices_directory(const std::string& directory) {
  const std::string instance = parent_of(directory);
  for (int attempt = 0; attempt < 50; ++attempt) {
    for (const std::string& each : {parent_of(instance), instance}) {
      if (::mkdir(each.c_str(), 0755) != 0 && errno != EEXIST && errno != ENOENT) {
        return fail_errno("create cgroup " + each);
      }
    }
    if (::mkdir(directory.c_str(), 0755) == 0) return {};
    if (errno != ENOENT) break;
  }
  return fail_errno("create cgroup " + directory);
}

}  // namespace

Status Cgroup::limit_devices(const std::vector<DeviceRule>& rules) const {
  if (!devices_.empty()) {
    CLOCHE_CHECK(make_devices_directory(devices_));
    return limit_devices_v1(devices_, rules);
  }
  for (const CgroupPlace& place : places_) {
    if (place.version == CgroupVersion::v2) return limit_devices_v2(place.directory, rules);
  }
  return fail(ErrorCode::unsupported,
              "this host cannot limit devices: it has no cgroup hierarchy of devices, and sandboxes are not in its v2 "
              "hierarchy; boot it with cgroup v2 alone to use GPUs");
}

Status Cgroup::check_devices(pid_t pid) const {
  // On v2 the program is attached to the cgroup that limits memory, and that the process is in it is checked already.
  if (devices_.empty()) return {};
  CLOCHE_TRY(const std::string procs, read_file(devices_ + "/cgroup.procs"));
  std::istringstream pids(procs);
  bool is_inside = false;
  for (pid_t next; pids >> next;) is_inside = is_inside || next == pid;
  CLOCHE_TRY(const std::string list, read_file(devices_ + "/devices.list"));
  if (is_inside && !list.starts_with("a")) return {};
  return fail(ErrorCode::unsupported,
              "the runtime changed the devices cgroup of the sandbox, so that it does not apply");
}

}  // namespace cloche::oci
