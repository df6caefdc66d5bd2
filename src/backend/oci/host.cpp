#include "backend/oci/host.hpp"

#include <unistd.h>

#include "backend/oci/files.hpp"
#include "backend/oci/process_identity.hpp"

namespace cloche::oci {

namespace {

Result<CgroupTree> open_cgroups(const CgroupLayout& layout, const std::string& instance) {
  CLOCHE_TRY(const std::string own, read_file("/proc/self/cgroup"));
  return CgroupTree::open(layout, own, instance);
}

}  // namespace

Host::Host(OciOptions options)
    : options_(std::move(options)),
      layout_(parse_cgroup_layout(read_file("/proc/self/mountinfo").value_or(""))),
      cgroups_(open_cgroups(layout_, options_.instance.value)),
      uids_(options_.uid_dir, options_.instance.value),
      gpus_(options_.gpu_places, options_.gpu_dir, options_.instance.value),
      images_(options_.state_dir + "/images"),
      agent_(options_.state_dir + "/agent", options_.agent_path),
      runtimes_(options_.runtime_paths),
      boot_(boot_id().value_or("")),
      disks_(disk::with_directory(options_.disk, options_.state_dir),
             options_.ledger ? options_.ledger : std::make_shared<disk::Ledger>()) {}

SandboxFiles Host::files_of(const std::string& id) const {
  SandboxFiles files;
  files.directory = sandboxes_directory() + "/" + id;
  files.record = files.directory + "/sandbox.json";
  files.config = files.directory + "/config.json";
  files.notes = files.directory + "/runtime";
  files.pid_file = files.directory + "/pid";
  files.to_agent = files.directory + "/in";
  files.from_agent = files.directory + "/out";
  return files;
}

Status Host::make_shared_directories() const {
  // 0711: root in a sandbox, which is an unprivileged user of the host, passes through them to its root skeleton and
  // cannot list them.
  CLOCHE_CHECK(make_directories(options_.state_dir, 0711));
  CLOCHE_CHECK(make_directories(options_.run_dir, 0711));
  CLOCHE_CHECK(make_directories(parent_of(options_.uid_dir), 0711));
  CLOCHE_CHECK(make_directories(parent_of(options_.gpu_dir), 0711));
  return make_directory(stage_directory(), 0711);
}

Status Host::make_instance_directories() const {
  CLOCHE_CHECK(make_directory(instance_directory(), 0711));
  return make_directory(sandboxes_directory(), 0711);
}

}  // namespace cloche::oci
