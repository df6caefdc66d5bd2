// KubernetesSettings: which cluster to use, and how pods are made there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/kubernetes/access/kubeconfig.hpp"
#include "cloche/engine_options.hpp"
#include "core/result.hpp"
#include "sandbox/backend.hpp"

namespace cloche {

struct KubernetesSettings {
  // None: neither a kubeconfig nor a service account was found.
  std::optional<kubernetes::ClusterAccess> access;
  std::string namespace_name;
  std::string agent_image;
  std::string pull_policy;  // as in a pod; empty: the cluster's own rule
  std::vector<std::string> pull_secrets;
  KubernetesOptions::AgentVolume agent_volume = KubernetesOptions::AgentVolume::automatic;
  std::map<std::string, std::string> node_selector;
  std::vector<KubernetesOptions::Toleration> tolerations;
  InstanceId instance;
};

// The options, and the environment (KUBECONFIG, CLOCHE_KUBERNETES_*, the service account of a pod) where they say
// nothing. Reads files.
// invalid_argument for a kubeconfig that cannot be used.
Result<KubernetesSettings> kubernetes_settings(const KubernetesOptions& options);

namespace kubernetes {

// The service account of the pod that this program runs in; nullopt outside of a cluster.
std::optional<ClusterAccess> service_account_access();

// Rejects names that could not be used later. A missing cluster or agent image is not among them: the first call
// reports it.
Status validate(const KubernetesSettings& settings);

// What is missing before the backend can be used; empty if nothing is.
std::string missing_setting(const KubernetesSettings& settings);

}  // namespace kubernetes
}  // namespace cloche
