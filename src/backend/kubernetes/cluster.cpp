#include "backend/kubernetes/cluster.hpp"

#include <cstdlib>

#include "backend/kubernetes/api/status.hpp"

namespace cloche::kubernetes {

namespace {

using namespace std::chrono_literals;

constexpr auto lifetime_of_facts = 120s;
// Image volumes are on from this version.
constexpr int first_with_image_volumes = 35;

bool is_of_gvisor(std::string_view handler) {
  return handler.find("runsc") != handler.npos || handler.find("gvisor") != handler.npos;
}

// A uid of the node that no other pod has: without user namespaces, the kernel counts processes of a uid for the whole
// node. Far from the uids of people, services, and ranges that are mapped.
std::uint32_t pick_uid() {
  constexpr std::uint32_t first = 0x4000'0000;
  const std::string bytes = random_bytes(4);
  std::uint32_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return first + number % 0x3fff'0000;
}

std::string names_in(const std::map<std::string, std::string>& classes) {
  std::string all;
  for (const auto& [name, handler] : classes) all += (all.empty() ? "" : ", ") + tidy(name);
  return all.empty() ? "none" : all;
}

// Nothing, if this account may not ask.
Task<Result<std::optional<std::vector<json::value>>>> list_if_allowed(const std::shared_ptr<Api>& api, std::string path,
                                                                      Deadline deadline) {
  auto listed = co_await api->list(std::move(path), "", deadline);
  if (listed) co_return std::optional(std::move(listed->items));
  const ErrorCode code = listed.error().code;
  if (code == ErrorCode::permission_denied || code == ErrorCode::not_found) co_return std::nullopt;
  co_return fail(std::move(listed).error());
}

}  // namespace

Result<ClusterFacts> read_version(const json::value& version) {
  ClusterFacts facts;
  facts.version = tidy(json::text(json::find(version, "gitVersion")));
  // `36` or `36+`.
  facts.minor = std::atoi(json::text(json::find(version, "minor")).c_str());
  if (facts.version.empty()) return fail(ErrorCode::protocol, "GET /version: the server is not Kubernetes");
  return facts;
}

std::map<std::string, std::string> read_classes(const std::vector<json::value>& items) {
  std::map<std::string, std::string> classes;
  for (const json::value& each : items) {
    const std::string name = json::text(json::find(each, "metadata", "name"));
    if (is_object_name(name)) classes[name] = json::text(json::find(each, "handler"));
  }
  return classes;
}

std::map<std::string, bool> read_handlers(const std::vector<json::value>& nodes) {
  std::map<std::string, bool> handlers;
  for (const json::value& node : nodes) {
    for (const json::object& each : json::objects(json::find(node, "status", "runtimeHandlers"))) {
      const json::value* features = json::find(each, "features");
      const bool has = features != nullptr && json::truth(json::find(*features, "userNamespaces"));
      const auto [at, is_new] = handlers.emplace(json::text(each, "name"), has);
      if (!is_new) at->second = at->second && has;
    }
  }
  return handlers;
}

Result<PodPlan> plan_for(const SandboxSpec& spec, const ClusterFacts& facts, const KubernetesSettings& settings) {
  PodPlan plan;
  std::string handler;
  if (spec.runtime != "auto") {
    if (!is_object_name(spec.runtime))
      return fail(ErrorCode::invalid_argument, "invalid runtime '" + spec.runtime + "': expected a RuntimeClass");
    plan.runtime_class = spec.runtime;
    handler = spec.runtime;
    if (facts.classes) {
      const auto found = facts.classes->find(spec.runtime);
      if (found == facts.classes->end()) {
        return fail(ErrorCode::unsupported,
                    "the cluster has no RuntimeClass '" + spec.runtime + "'; it has: " + names_in(*facts.classes));
      }
      handler = found->second;
    }
  }
  plan.kernel = is_of_gvisor(handler) ? Kernel::own : Kernel::elsewhere;
  if (facts.user_namespaces) {
    const auto found = facts.user_namespaces->find(handler);
    plan.has_user_namespace = found != facts.user_namespaces->end() && found->second && plan.kernel != Kernel::own;
  }
  const bool has_own_uids = plan.has_user_namespace || plan.kernel == Kernel::own || spec.uid.has_value();
  plan.uid = has_own_uids ? uid_of(spec) : pick_uid();
  using Way = KubernetesOptions::AgentVolume;
  plan.has_image_volume = settings.agent_volume == Way::image ||
                          (settings.agent_volume == Way::automatic && facts.minor >= first_with_image_volumes);
  return plan;
}

Task<Result<ClusterFacts>> Cluster::facts(Deadline deadline) {
  if (facts_ && !until_.passed()) co_return *facts_;
  CLOCHE_CO_TRY(const json::value version, co_await api_->get("/version", deadline));
  CLOCHE_CO_TRY(ClusterFacts facts, read_version(version));
  CLOCHE_CO_TRY(const auto classes, co_await list_if_allowed(api_, "/apis/node.k8s.io/v1/runtimeclasses", deadline));
  if (classes) facts.classes = read_classes(*classes);
  CLOCHE_CO_TRY(const auto nodes, co_await list_if_allowed(api_, "/api/v1/nodes", deadline));
  if (nodes) facts.user_namespaces = read_handlers(*nodes);
  facts_ = facts;
  until_ = Deadline::after(lifetime_of_facts);
  co_return facts;
}

}  // namespace cloche::kubernetes
