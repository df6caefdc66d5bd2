// The report of `cloche doctor` about a cluster. Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "backend/kubernetes/cluster.hpp"
#include "backend/kubernetes/options.hpp"
#include "sandbox/backend.hpp"

namespace cloche::kubernetes {

// Something that the account must be allowed to do.
struct Right {
  std::string verb;
  std::string resource;     // pods
  std::string subresource;  // exec
};
const std::vector<Right>& needed_rights();
// The body of POST .../selfsubjectaccessreviews.
json::object review_body(const Right& right, const std::string& namespace_name);

// The backend is not in use, because of this.
std::vector<Finding> unconfigured_findings(const std::string& missing);
std::vector<Finding> cluster_findings(const std::string& place, const KubernetesSettings& settings,
                                      const Result<ClusterFacts>& facts);
Finding right_finding(const Right& right, const std::string& namespace_name, const Result<json::value>& answer);
Finding policy_finding(const std::string& namespace_name, const Result<Listed>& policies);
// The result of making a sandbox and removing it, and how long that took.
Finding trial_finding(const Status& made, std::chrono::milliseconds took);

}  // namespace cloche::kubernetes
