// Host: what all blocking work of this backend shares, from any thread: where things are, and who keeps what.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "backend/oci/agent_store.hpp"
#include "backend/oci/cgroup/cgroup.hpp"
#include "backend/oci/gpus.hpp"
#include "backend/oci/image/image_store.hpp"
#include "backend/oci/network/transparent_egress.hpp"
#include "backend/oci/oci_backend.hpp"
#include "backend/oci/root/uid_ranges.hpp"
#include "backend/oci/runtime/runtime.hpp"
#include "disk/store.hpp"
#include "sandbox/unremoved.hpp"

namespace cloche::oci {

// The files of one sandbox.
struct SandboxFiles {
  std::string directory;  // 0700; also the bundle
  std::string record;
  std::string config;
  std::string notes;  // of the runtime
  std::string pid_file;
  std::string to_agent;
  std::string from_agent;
};

class Host {
 public:
  explicit Host(OciOptions options);

  const OciOptions& options() const { return options_; }
  std::string instance_directory() const { return options_.run_dir + "/" + options_.instance.value; }
  std::string sandboxes_directory() const { return instance_directory() + "/sandboxes"; }
  // Always empty: only in mount namespaces of runtimes that are starting is something mounted there.
  std::string stage_directory() const { return options_.run_dir + "/stage"; }
  std::string roots_directory() const { return options_.state_dir + "/roots"; }
  std::string probe_file() const { return options_.run_dir + "/probe.json"; }
  SandboxFiles files_of(const std::string& id) const;

  // Makes what all instances share and keep.
  Status make_shared_directories() const;
  // Makes this instance's, which go with its last sandbox.
  Status make_instance_directories() const;

  const CgroupLayout& cgroup_layout() const { return layout_; }
  // Unsupported, with what to do, where this host cannot limit.
  const Result<CgroupTree>& cgroups() const { return cgroups_; }
  const UidRanges& uids() const { return uids_; }
  const HostGpus& gpus() const { return gpus_; }
  const ImageStore& images() const { return images_; }
  AgentStore& agent() { return agent_; }
  RuntimeCatalog& runtimes() { return runtimes_; }
  const std::string& boot() const { return boot_; }
  // One probe at a time.
  std::mutex& probing() { return probing_; }
  UnremovedList& unremoved() { return unremoved_; }
  TransparentEgress& egress() { return egress_; }
  disk::DiskStore& disks() { return disks_; }

 private:
  OciOptions options_;
  CgroupLayout layout_;
  Result<CgroupTree> cgroups_;
  UidRanges uids_;
  HostGpus gpus_;
  ImageStore images_;
  AgentStore agent_;
  RuntimeCatalog runtimes_;
  std::string boot_;
  std::mutex probing_;
  UnremovedList unremoved_;
  TransparentEgress egress_;
  disk::DiskStore disks_;
};

}  // namespace cloche::oci
