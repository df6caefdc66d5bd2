// Hardening: from a spec to the configuration of the container. Pure, so that tests can inspect every protection.
#pragma once

#include <string>
#include <vector>

#include "backend/docker/host_path_map.hpp"
#include "backend/docker/labels.hpp"
#include "json/lenient_json.hpp"
#include "sandbox/kernel.hpp"
#include "sandbox/spec.hpp"

namespace cloche::docker {

// GPUs, as an engine is asked for them.
struct DeviceRequest {
  std::string driver;  // cdi or nvidia
  std::vector<std::string> ids;
};

struct ContainerPlan {
  std::string image;  // the derived one, with the agent in it
  std::string runtime;
  Kernel kernel = Kernel::shared;    // of that runtime
  std::vector<std::string> volumes;  // that the image declares
  LabelMap labels;
  HostPathMap host_path_map;
  bool has_own_uid = false;  // chosen when the container is created
  std::vector<DeviceRequest> devices;
};

// Where the agent lies in every derived image.
inline constexpr const char* agent_directory = "/.cloche";
inline constexpr const char* agent_in_sandbox = "/.cloche/agent";

// The body of POST /containers/create.
json::object container_body(const SandboxSpec& spec, const ContainerPlan& plan);

// Memory, cpus and pids, for creation and for POST /containers/{id}/update alike.
json::object resource_limits(const Limits& limits, Kernel kernel);

// The pids limit of the container. With gVisor it counts threads of gVisor's kernel, and the limit that a sandbox asks
// for is enforced inside.
std::int64_t engine_pids(std::uint32_t pids, Kernel kernel);

// A volume that an image declares would be writable without any limit. Each is covered by an empty read-only tmpfs;
// `unsupported` for one where that would hide what the sandbox needs.
Status check_volumes(const std::vector<std::string>& volumes);

// True for a warning that a limit is not enforced. Unknown words are taken for that.
bool warns_of_lost_limit(std::string_view warning);

}  // namespace cloche::docker
