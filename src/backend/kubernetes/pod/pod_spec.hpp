// From a spec to the pod that is asked for. Pure, so that tests can inspect every protection.
#pragma once

#include <string>

#include "backend/kubernetes/options.hpp"
#include "json/lenient_json.hpp"
#include "sandbox/kernel.hpp"
#include "sandbox/spec.hpp"

namespace cloche::kubernetes {

// What is decided for a pod beyond its spec.
struct PodPlan {
  std::string name;
  SandboxId id;
  std::uint32_t uid = usual_uid;      // of the programs
  std::string runtime_class;          // empty: the cluster's own
  Kernel kernel = Kernel::elsewhere;  // of that class
  bool has_user_namespace = false;    // root of the pod is no user of the node
  bool has_image_volume = true;       // the agent comes in by it; else an init container copies it
};

// The body of POST .../pods.
json::object pod_body(const SandboxSpec& spec, const PodPlan& plan, const KubernetesSettings& settings);

// `resources` of the sandbox's container: requests are a quarter of the limits.
json::object resources_of(const Limits& limits);
// The body of PATCH .../pods/NAME/resize.
json::object resize_body(const Limits& limits);
// `128Mi`, `500m`: the limits as Kubernetes writes them back.
std::string memory_quantity(Bytes memory);
std::string cpu_quantity(double cpus);

// Where the agent is in every pod. No program can look into this directory.
inline constexpr const char* own_directory = "/.cloche";
inline constexpr const char* agent_in_pod = "/.cloche/image/cloche-agent";

}  // namespace cloche::kubernetes
