#include "backend/kubernetes/examine.hpp"

#include <algorithm>

#include "backend/kubernetes/pod/marks.hpp"

namespace cloche::kubernetes {

namespace {

using Level = Finding::Level;

// In-place changes of limits are on from this version.
constexpr int first_with_resize = 33;

Finding finding(std::string name, Level level, std::string detail, std::string advice = "") {
  return Finding{std::move(name), level, std::move(detail), std::move(advice)};
}

std::string advice_for(const Error& error) {
  switch (error.code) {
    case ErrorCode::permission_denied:
      return "check the kubeconfig, and grant the rights that docs/kubernetes.md lists";
    case ErrorCode::not_found:
      return "push the image of the agent to where nodes find it, and set kubernetes.agent_image";
    case ErrorCode::limit_reached: return "remove pods, raise the quota of the namespace or add nodes";
    case ErrorCode::invalid_argument: return "check the kubeconfig and the `kubernetes` section of the configuration";
    default: return "check that this host reaches the cluster and that its nodes are ready: kubectl get nodes";
  }
}

Finding classes_finding(const ClusterFacts& facts) {
  if (!facts.classes) {
    return finding("kubernetes runtimes", Level::warning, "this account may not list RuntimeClasses",
                   "grant `list` of runtimeclasses.node.k8s.io, so that a wrong `runtime` is found at once");
  }
  std::string all;
  bool has_own_kernel = false;
  for (const auto& [name, handler] : *facts.classes) {
    all += (all.empty() ? "" : ", ") + name;
    has_own_kernel = has_own_kernel || handler.find("runsc") != std::string::npos;
  }
  if (all.empty()) all = "none";
  if (has_own_kernel) return finding("kubernetes runtimes", Level::good, all);
  return finding("kubernetes runtimes", Level::warning, all + "; none of them is gVisor",
                 "install gVisor and a RuntimeClass for it: otherwise programs share the kernel of the node");
}

Finding namespaces_finding(const ClusterFacts& facts) {
  const std::string name = "kubernetes user namespaces";
  if (!facts.user_namespaces) {
    return finding(name, Level::warning, "not used: this account may not list nodes, so it is not known which can",
                   "grant `list` of nodes");
  }
  std::string all;
  for (const auto& [handler, has] : *facts.user_namespaces) {
    // It reports them, and cannot start such a pod.
    const bool is_gvisor = handler.find("runsc") != std::string::npos || handler.find("gvisor") != std::string::npos;
    if (has && !is_gvisor) all += (all.empty() ? "" : ", ") + (handler.empty() ? "default" : handler);
  }
  if (!all.empty()) return finding(name, Level::good, "used with the handlers " + all);
  return finding(name, Level::warning, "no runtime of the nodes supports them: root of a pod is root of its node",
                 "use containerd 2 with runc 1.2, or gVisor");
}

}  // namespace

const std::vector<Right>& needed_rights() {
  static const std::vector<Right> rights = {
      {"create", "pods", ""}, {"get", "pods", ""},     {"list", "pods", ""},       {"watch", "pods", ""},
      {"delete", "pods", ""}, {"get", "pods", "exec"}, {"create", "pods", "exec"}, {"patch", "pods", "resize"}};
  return rights;
}

json::object review_body(const Right& right, const std::string& namespace_name) {
  json::object attributes{{"namespace", namespace_name}, {"verb", right.verb}, {"resource", right.resource}};
  if (!right.subresource.empty()) attributes["subresource"] = right.subresource;
  json::object spec;
  spec["resourceAttributes"] = std::move(attributes);
  json::object body{{"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SelfSubjectAccessReview"}};
  body["spec"] = std::move(spec);
  return body;
}

std::vector<Finding> unconfigured_findings(const std::string& missing) {
  return {finding("kubernetes cluster", Level::missing, "not configured: " + missing,
                  "set it to create sandboxes as pods; the other backends do not need it")};
}

std::vector<Finding> cluster_findings(const std::string& place, const KubernetesSettings& settings,
                                      const Result<ClusterFacts>& facts) {
  if (!facts) {
    return {finding("kubernetes cluster", Level::missing, facts.error().message, advice_for(facts.error()))};
  }
  std::vector<Finding> findings;
  findings.push_back(finding("kubernetes cluster", Level::good,
                             facts->version + " at " + place + ", namespace " + settings.namespace_name));
  if (facts->minor < first_with_resize) {
    findings.push_back(finding("kubernetes limits", Level::warning,
                               "limits of a running pod cannot be changed before Kubernetes 1.33",
                               "upgrade the cluster, or leave memory and cpus out of claims and sessions"));
  }
  findings.push_back(classes_finding(*facts));
  findings.push_back(namespaces_finding(*facts));
  return findings;
}

Finding right_finding(const Right& right, const std::string& namespace_name, const Result<json::value>& answer) {
  const std::string what =
      right.verb + " " + right.resource + (right.subresource.empty() ? "" : "/" + right.subresource);
  const std::string name = "kubernetes right to " + what;
  if (!answer) return finding(name, Level::warning, "not known: " + answer.error().message, "grant it");
  if (json::truth(json::find(*answer, "status", "allowed")))
    return finding(name, Level::good, "granted in " + namespace_name);
  return finding(name, Level::missing, "not granted in the namespace " + namespace_name,
                 "add the verb `" + right.verb + "` for `" + right.resource +
                     (right.subresource.empty() ? "" : "/" + right.subresource) + "` to the account's Role");
}

Finding policy_finding(const std::string& namespace_name, const Result<Listed>& policies) {
  const std::string name = "kubernetes network";
  const std::string advice =
      "apply the NetworkPolicy of docs/kubernetes.md, with a network plugin that enforces policies: otherwise programs "
      "reach what the pod's network reaches";
  if (!policies) return finding(name, Level::warning, "not known: " + policies.error().message, advice);
  const bool has_deny = std::ranges::any_of(policies->items, [](const json::value& policy) {
    const auto types = json::texts(json::find(policy, "spec", "policyTypes"));
    const json::value* egress = json::find(policy, "spec", "egress");
    const bool denies = std::ranges::find(types, "Egress") != types.end() &&
                        (egress == nullptr || (egress->is_array() && egress->get_array().empty()));
    const auto wanted = json::text_map(json::find(policy, "spec", "podSelector", "matchLabels"));
    const auto labels = marks::labels_of({"x"}, {});
    const bool fits = std::ranges::all_of(wanted, [&](const auto& pair) {
      return (pair.first == marks::app || pair.first == marks::managed_by) && labels.at(pair.first) == pair.second;
    });
    return denies && fits;
  });
  if (has_deny) {
    return finding(
        name, Level::good,
        "a NetworkPolicy of " + namespace_name + " denies all; whether it is enforced depends on the plugin");
  }
  return finding(name, Level::warning, "no NetworkPolicy of " + namespace_name + " denies the traffic of sandboxes",
                 advice);
}

Finding trial_finding(const Status& made, std::chrono::milliseconds took) {
  if (made) {
    return finding("kubernetes trial", Level::good,
                   "created a pod, connected to its agent and removed it in " + std::to_string(took.count()) + " ms");
  }
  return finding("kubernetes trial", Level::missing, "cannot create a sandbox: " + made.error().message,
                 advice_for(made.error()));
}

}  // namespace cloche::kubernetes
