// Cluster: what the cluster can do, asked for rarely.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "backend/kubernetes/api/api.hpp"
#include "backend/kubernetes/pod/pod_spec.hpp"

namespace cloche::kubernetes {

struct ClusterFacts {
  std::string version;  // v1.36.3
  int minor = 0;
  // RuntimeClasses and their handlers; nullopt: this account may not list them.
  std::optional<std::map<std::string, std::string>> classes;
  // Whether a handler can give pods user namespaces, on every node that has it; nullopt: this account may not list
  // nodes. The default handler has the empty name.
  std::optional<std::map<std::string, bool>> user_namespaces;
};

// Pure.
Result<ClusterFacts> read_version(const json::value& version);
std::map<std::string, std::string> read_classes(const std::vector<json::value>& items);
std::map<std::string, bool> read_handlers(const std::vector<json::value>& nodes);

// Which class, kernel, user namespace and way of the agent a sandbox gets. `unsupported` for a runtime that the cluster
// does not have.
Result<PodPlan> plan_for(const SandboxSpec& spec, const ClusterFacts& facts, const KubernetesSettings& settings);

class Cluster {
 public:
  explicit Cluster(std::shared_ptr<Api> api) : api_(std::move(api)) {}

  // At most a few minutes old.
  Task<Result<ClusterFacts>> facts(Deadline deadline);

 private:
  std::shared_ptr<Api> api_;
  std::optional<ClusterFacts> facts_;
  Deadline until_ = Deadline::never();
};

}  // namespace cloche::kubernetes
