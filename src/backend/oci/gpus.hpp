// The GPUs of one sandbox: what it is lent, what of the host it sees, and the proof that it has let go of them.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "backend/oci/cgroup/cgroup.hpp"
#include "cloche/spec.hpp"
#include "core/result.hpp"
#include "gpu/gpu.hpp"
#include "gpu/lending.hpp"
#include "gpu/places.hpp"

namespace cloche::oci {

// Where GPUs are searched, and who has them.
class HostGpus {
 public:
  HostGpus(gpu::Places places, std::string directory, std::string instance)
      : places_(std::move(places)), lending_(std::move(directory), std::move(instance)) {}

  const gpu::Lending& lending() const { return lending_; }
  // Reads the host again.
  gpu::Inventory find() const;

 private:
  gpu::Places places_;
  gpu::Lending lending_;
};

// What the journal of a sandbox has of them.
struct SandboxGpus {
  std::vector<std::string> names;
  std::vector<gpu::DeviceNode> nodes;
  gpu::Variables env;  // of every program

  bool empty() const { return nodes.empty(); }
  static SandboxGpus of(const gpu::Inventory& inventory, const std::vector<gpu::Gpu>& lent);
};
boost::json::object to_json(const SandboxGpus& gpus);
// Throws where a member is missing or of another type.
SandboxGpus gpus_from_json(const boost::json::object& object);

// The files of the drivers, read-only.
std::vector<Mount> driver_mounts(const gpu::Inventory& inventory);

// The harmless devices and these.
std::vector<DeviceRule> device_rules(const std::vector<gpu::DeviceNode>& nodes);

// Looks from outside at every process of the cgroup. An error names what is still open or mapped.
Status prove_released(const Cgroup& cgroup, const SandboxGpus& gpus);

}  // namespace cloche::oci
