#include "backend/kubernetes/pod/pod.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "backend/kubernetes/access/kubeconfig.hpp"
#include "backend/kubernetes/api/status.hpp"

namespace cloche::kubernetes {

namespace {

Container container_of(const json::object& status) {
  Container container;
  const json::value* state = json::find(status, "state");
  if (state != nullptr) {
    container.is_running = json::find(*state, "running") != nullptr;
    container.waiting = tidy(json::text(json::find(*state, "waiting", "reason")));
    container.waiting_message = tidy(json::text(json::find(*state, "waiting", "message")));
    container.has_terminated = json::find(*state, "terminated") != nullptr;
    container.terminated = tidy(json::text(json::find(*state, "terminated", "reason")));
    container.terminated_message = tidy(json::text(json::find(*state, "terminated", "message")));
    container.exit_code = static_cast<int>(json::number(json::find(*state, "terminated", "exitCode")));
  }
  const json::value* resources = json::find(status, "resources");
  if (resources != nullptr) {
    container.memory = read_quantity(json::text(json::find(*resources, "limits", "memory")));
    container.cpu = json::text(json::find(*resources, "limits", "cpu"));
  }
  return container;
}

Container find_container(const json::value& status, const char* list, std::string_view name) {
  for (const json::object& each : json::objects(json::find(status, list))) {
    if (json::text(each, "name") == name) return container_of(each);
  }
  return {};
}

void read_conditions(const json::value& status, Pod& pod) {
  for (const json::object& each : json::objects(json::find(status, "conditions"))) {
    const std::string type = json::text(each, "type");
    const bool holds = json::text(each, "status") == "True";
    const std::string message = tidy(json::text(each, "message"));
    if (type == "PodScheduled" && !holds && json::text(each, "reason") == "Unschedulable") pod.unscheduled = message;
    if (type == "PodResizePending" && holds) pod.resize = tidy(json::text(each, "reason")) + ": " + message;
    if (type == "PodResizeInProgress" && holds && json::text(each, "reason") == "Error")
      pod.resize = "Error: " + message;
  }
}

constexpr std::array image_reasons = {"ErrImageNeverPull", "ImagePullBackOff",    "InvalidImageName",
                                      "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"};
constexpr std::array start_reasons = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError",
                                      "PreCreateHookError",         "PostStartHookError",   "CrashLoopBackOff"};

std::optional<Error> trouble_of_container(const Container& container, const std::string& what) {
  const auto is_one_of = [&](const auto& reasons) {
    return std::ranges::find(reasons, container.waiting) != reasons.end();
  };
  const std::string said =
      container.waiting + (container.waiting_message.empty() ? "" : ": ") + container.waiting_message;
  if (is_one_of(image_reasons)) {
    return Error{ErrorCode::not_found, "the node cannot get the image of " + what +
                                           ": check its name, the pull secrets and the pull policy (" + said + ")"};
  }
  if (is_one_of(start_reasons)) return Error{ErrorCode::unsupported, "the node cannot start " + what + ": " + said};
  return std::nullopt;
}

}  // namespace

Bytes read_quantity(std::string_view text) {
  constexpr std::pair<std::string_view, std::uint64_t> units[] = {{"", 1},
                                                                  {"k", 1'000},
                                                                  {"M", 1'000'000},
                                                                  {"G", 1'000'000'000},
                                                                  {"T", 1'000'000'000'000},
                                                                  {"Ki", 1ULL << 10},
                                                                  {"Mi", 1ULL << 20},
                                                                  {"Gi", 1ULL << 30},
                                                                  {"Ti", 1ULL << 40}};
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return {};
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const auto* found = std::ranges::find(units, unit, &std::pair<std::string_view, std::uint64_t>::first);
  if (found == std::end(units) || number > (std::uint64_t{1} << 53) / found->second) return {};
  return Bytes{number * found->second};
}

Result<Pod> read_pod(const json::value& object) {
  Pod pod;
  const json::value* metadata = json::find(object, "metadata");
  if (metadata == nullptr) return fail(ErrorCode::protocol, "invalid response: not a pod");
  pod.name = json::text(json::find(*metadata, "name"));
  pod.uid = json::text(json::find(*metadata, "uid"));
  // Both become parts of paths and of requests.
  if (!is_object_name(pod.name) || pod.uid.empty() || pod.uid.size() > 128)
    return fail(ErrorCode::protocol, "invalid response: a pod without a valid name and uid");
  pod.resource_version = json::text(json::find(*metadata, "resourceVersion"));
  pod.labels = json::text_map(json::find(*metadata, "labels"));
  pod.annotations = json::text_map(json::find(*metadata, "annotations"));
  pod.is_deleted = json::find(*metadata, "deletionTimestamp") != nullptr;
  pod.node = tidy(json::text(json::find(object, "spec", "nodeName")));
  const json::value* status = json::find(object, "status");
  if (status == nullptr) return pod;
  pod.phase = json::text(json::find(*status, "phase"));
  pod.reason = tidy(json::text(json::find(*status, "reason")));
  pod.message = tidy(json::text(json::find(*status, "message")));
  read_conditions(*status, pod);
  pod.sandbox = find_container(*status, "containerStatuses", sandbox_container);
  pod.agent = find_container(*status, "initContainerStatuses", agent_container);
  return pod;
}

bool is_running(const Pod& pod) { return pod.phase == "Running" && pod.sandbox.is_running && !pod.is_deleted; }

bool has_ended(const Pod& pod) {
  return pod.is_deleted || pod.phase == "Succeeded" || pod.phase == "Failed" || pod.sandbox.has_terminated;
}

bool was_out_of_memory(const Pod& pod) { return pod.sandbox.terminated == "OOMKilled"; }

std::optional<Error> trouble_of(const Pod& pod) {
  if (auto trouble = trouble_of_container(pod.sandbox, "the sandbox")) return trouble;
  if (auto trouble = trouble_of_container(pod.agent, "the agent")) return trouble;
  if (pod.agent.has_terminated && pod.agent.exit_code != 0) {
    return Error{ErrorCode::unsupported, "the agent could not be installed in the pod: exit code " +
                                             std::to_string(pod.agent.exit_code) + " " + pod.agent.terminated_message};
  }
  if (has_ended(pod)) {
    return Error{was_out_of_memory(pod) ? ErrorCode::limit_reached : ErrorCode::unavailable,
                 "the pod ended before it was ready: " + end_of(pod)};
  }
  return std::nullopt;
}

std::string delay_of(const Pod& pod) {
  if (!pod.unscheduled.empty()) return "no node takes the pod: " + pod.unscheduled;
  for (const Container* each : {&pod.agent, &pod.sandbox}) {
    if (each->waiting.empty() || each->waiting == "PodInitializing" || each->waiting == "ContainerCreating") continue;
    return each->waiting + (each->waiting_message.empty() ? "" : ": ") + each->waiting_message;
  }
  return pod.phase.empty() ? "the cluster has not looked at the pod" : "the node has not started the pod";
}

std::string end_of(const Pod& pod) {
  if (pod.reason == "Evicted") return "the node evicted the pod: " + pod.message;
  if (was_out_of_memory(pod)) return "it reached its memory limit";
  if (pod.sandbox.has_terminated) {
    return "its agent ended with exit code " + std::to_string(pod.sandbox.exit_code) +
           (pod.sandbox.terminated.empty() ? "" : " (" + pod.sandbox.terminated + ")");
  }
  if (pod.is_deleted) return "the pod is being deleted";
  if (!pod.reason.empty()) return pod.reason + (pod.message.empty() ? "" : ": ") + pod.message;
  return "the pod is in the phase " + pod.phase;
}

}  // namespace cloche::kubernetes
