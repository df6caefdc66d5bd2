// The devices of a sandbox's processes, where it has more than the harmless ones.
#include <sstream>

#include "backend/oci/cgroup/cgroup.hpp"
#include "backend/oci/files.hpp"

namespace cloche::oci {

Status Cgroup::limit_devices(const std::vector<DeviceRule>& rules) const {
  if (!v1_.devices.empty()) {
    CLOCHE_CHECK(make_extra(v1_.devices));
    return limit_devices_v1(v1_.devices, rules);
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
  if (v1_.devices.empty()) return {};
  CLOCHE_TRY(const std::string procs, read_file(v1_.devices + "/cgroup.procs"));
  std::istringstream pids(procs);
  bool is_inside = false;
  for (pid_t next; pids >> next;) is_inside = is_inside || next == pid;
  CLOCHE_TRY(const std::string list, read_file(v1_.devices + "/devices.list"));
  if (is_inside && !list.starts_with("a")) return {};
  return fail(ErrorCode::unsupported,
              "the runtime changed the devices cgroup of the sandbox, so that it does not apply");
}

}  // namespace cloche::oci
