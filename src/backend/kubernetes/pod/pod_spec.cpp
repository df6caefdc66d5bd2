#include "backend/kubernetes/pod/pod_spec.hpp"

#include <algorithm>
#include <cmath>

#include "backend/kubernetes/pod/marks.hpp"
#include "backend/kubernetes/pod/pod.hpp"
#include "core/user_lines.hpp"
#include "sandbox/spec_text.hpp"

namespace cloche::kubernetes {

namespace {

constexpr const char* agent_in_image = "/cloche-agent";
constexpr const char* image_directory = "/.cloche/image";
// A file of the node that a kubelet mounts into every container, with no limit: out of the programs' reach.
constexpr const char* end_message = "/.cloche/message";
// The agent's own log, and its copy where there is no image volume.
constexpr const char* disk_limit = "128Mi";
constexpr const char* agent_size = "96Mi";
constexpr const char* path_variable = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Those that every Linux has. The image's own tables are not known before there is a pod.
constexpr const char* base_passwd =
    "root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
    "bin:x:2:2:bin:/bin:/usr/sbin/nologin\n"
    // lint-words: allow
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
constexpr const char* base_group =
    "root:x:0:\ndaemon:x:1:\nbin:x:2:\nadm:x:4:\ntty:x:5:\ndisk:x:6:\nmail:x:8:\nstaff:x:50:\nusers:x:100:\n"
    "nogroup:x:65534:\n";

json::object memory_volume(const char* name, Bytes size) {
  return {{"name", name}, {"emptyDir", json::object{{"medium", "Memory"}, {"sizeLimit", memory_quantity(size)}}}};
}

json::object mount(const char* name, std::string_view path, bool is_read_only = false) {
  json::object mounted{{"name", name}, {"mountPath", path}};
  if (is_read_only) mounted["readOnly"] = true;
  return mounted;
}

json::object names_volume() {
  json::array items;
  for (const auto& [mark, path] : {std::pair{marks::passwd, "passwd"}, std::pair{marks::group, "group"}}) {
    const std::string field = "metadata.annotations['" + std::string(mark) + "']";
    items.push_back(json::object{{"path", path}, {"fieldRef", json::object{{"fieldPath", field}}}});
  }
  return {{"name", "names"}, {"downwardAPI", json::object{{"defaultMode", 0444}, {"items", std::move(items)}}}};
}

json::object name_mount(const char* file) {
  json::object mounted = mount("names", std::string("/etc/") + file, true);
  mounted["subPath"] = file;
  return mounted;
}

json::array volumes(const SandboxSpec& spec, const PodPlan& plan, const KubernetesSettings& settings) {
  json::array all{memory_volume("work", spec.limits.work_dir), memory_volume("tmp", spec.limits.tmp_dir),
                  memory_volume("shm", spec.limits.shm_dir), memory_volume("own", mib(1)), names_volume()};
  json::object agent{{"name", "agent"}};
  if (plan.has_image_volume) {
    json::object image{{"reference", settings.agent_image}};
    if (!settings.pull_policy.empty()) image["pullPolicy"] = settings.pull_policy;
    agent["image"] = std::move(image);
  } else {
    agent["emptyDir"] = json::object{{"sizeLimit", agent_size}};
  }
  all.push_back(std::move(agent));
  return all;
}

json::object container_context(json::array capabilities) {
  return {{"privileged", false},
          {"allowPrivilegeEscalation", false},
          {"readOnlyRootFilesystem", true},
          {"runAsUser", 0},
          {"runAsGroup", 0},
          {"capabilities", json::object{{"drop", json::array{"ALL"}}, {"add", std::move(capabilities)}}},
          {"seccompProfile", json::object{{"type", "RuntimeDefault"}}}};
}

json::object sandbox_of(const SandboxSpec& spec, const PodPlan& plan, const KubernetesSettings& settings) {
  json::object container{
      {"name", sandbox_container},
      {"image", spec.image},
      {"command", json::array{agent_in_pod, "pod", std::to_string(plan.uid), std::to_string(spec.gid), spec.work_dir,
                              own_directory, "/tmp", "/dev/shm"}},
      {"workingDir", "/"},
      {"env", json::array{json::object{{"name", "PATH"}, {"value", path_variable}}}},
      {"stdin", false},
      {"tty", false},
      {"terminationMessagePath", end_message},
      {"terminationMessagePolicy", "File"}};
  container["resources"] = resources_of(spec.limits);
  // The agent gives up chown once the volumes have their owners.
  container["securityContext"] = container_context({"CHOWN", "SETUID", "SETGID", "KILL"});
  container["volumeMounts"] = json::array{mount("own", own_directory),  mount("agent", image_directory, true),
                                          mount("work", spec.work_dir), mount("tmp", "/tmp"),
                                          mount("shm", "/dev/shm"),     name_mount("passwd"),
                                          name_mount("group")};
  if (!settings.pull_policy.empty()) container["imagePullPolicy"] = settings.pull_policy;
  return container;
}

json::object installer(const KubernetesSettings& settings) {
  json::object container{{"name", agent_container},
                         {"image", settings.agent_image},
                         {"command", json::array{agent_in_image, "install", agent_in_pod}}};
  const json::object small{{"cpu", "1"}, {"memory", "64Mi"}, {"ephemeral-storage", disk_limit}};
  container["resources"] = json::object{
      {"limits", small}, {"requests", json::object{{"cpu", "10m"}, {"memory", "16Mi"}, {"ephemeral-storage", "0"}}}};
  container["securityContext"] = container_context({});
  container["volumeMounts"] = json::array{mount("agent", image_directory)};
  if (!settings.pull_policy.empty()) container["imagePullPolicy"] = settings.pull_policy;
  return container;
}

json::array tolerations(const KubernetesSettings& settings) {
  json::array all;
  for (const auto& each : settings.tolerations) {
    json::object one{{"operator", each.value.empty() ? "Exists" : "Equal"}};
    if (!each.key.empty()) one["key"] = each.key;
    if (!each.value.empty()) one["value"] = each.value;
    if (!each.effect.empty()) one["effect"] = each.effect;
    all.push_back(std::move(one));
  }
  return all;
}

json::object pod_spec(const SandboxSpec& spec, const PodPlan& plan, const KubernetesSettings& settings) {
  json::object pod{{"restartPolicy", "Never"},
                   {"terminationGracePeriodSeconds", 0},
                   {"automountServiceAccountToken", false},
                   {"enableServiceLinks", false},
                   {"hostNetwork", false},
                   {"hostPID", false},
                   {"hostIPC", false},
                   {"shareProcessNamespace", false},
                   {"hostname", spec.hostname},
                   // Names are the agent's matter, and those of the node are no business of programs.
                   {"dnsPolicy", "None"},
                   {"dnsConfig", json::object{{"nameservers", json::array{"127.0.0.1"}}}}};
  pod["securityContext"] = json::object{{"seccompProfile", json::object{{"type", "RuntimeDefault"}}}};
  if (!plan.runtime_class.empty()) pod["runtimeClassName"] = plan.runtime_class;
  if (plan.has_user_namespace) pod["hostUsers"] = false;
  if (!settings.pull_secrets.empty()) {
    json::array secrets;
    for (const std::string& name : settings.pull_secrets) secrets.push_back(json::object{{"name", name}});
    pod["imagePullSecrets"] = std::move(secrets);
  }
  if (!settings.node_selector.empty()) {
    json::object selector;
    for (const auto& [name, value] : settings.node_selector) selector[name] = value;
    pod["nodeSelector"] = std::move(selector);
  }
  if (!settings.tolerations.empty()) pod["tolerations"] = tolerations(settings);
  if (!plan.has_image_volume) pod["initContainers"] = json::array{installer(settings)};
  pod["containers"] = json::array{sandbox_of(spec, plan, settings)};
  pod["volumes"] = volumes(spec, plan, settings);
  return pod;
}

}  // namespace

std::string memory_quantity(Bytes memory) {
  constexpr std::uint64_t mebibyte = 1 << 20;
  if (memory.count % mebibyte == 0) return std::to_string(memory.count / mebibyte) + "Mi";
  return std::to_string(memory.count);
}

std::string cpu_quantity(double cpus) {
  const auto thousandths = std::max<long long>(1, std::llround(cpus * 1000));
  return thousandths % 1000 == 0 ? std::to_string(thousandths / 1000) : std::to_string(thousandths) + "m";
}

json::object resources_of(const Limits& limits) {
  constexpr int share = 4;
  const json::object most{{"memory", memory_quantity(limits.memory)},
                          {"cpu", cpu_quantity(limits.cpus)},
                          {"ephemeral-storage", disk_limit}};
  const json::object promised{{"memory", memory_quantity({limits.memory.count / share})},
                              {"cpu", cpu_quantity(limits.cpus / share)},
                              {"ephemeral-storage", "0"}};
  return {{"limits", most}, {"requests", promised}};
}

json::object resize_body(const Limits& limits) {
  json::object resources = resources_of(limits);
  // Only memory and cpus can change.
  for (const char* kind : {"limits", "requests"}) resources[kind].as_object().erase("ephemeral-storage");
  json::array containers{json::object{{"name", sandbox_container}, {"resources", std::move(resources)}}};
  return {{"spec", json::object{{"containers", std::move(containers)}}}};
}

json::object pod_body(const SandboxSpec& spec, const PodPlan& plan, const KubernetesSettings& settings) {
  json::object labels;
  for (const auto& [name, value] : marks::labels_of(plan.id, settings.instance)) labels[name] = value;
  const SandboxUser user{.name = spec.user, .uid = plan.uid, .gid = spec.gid, .home = home_of(spec)};
  const json::object annotations{
      {marks::instance, settings.instance.name.empty() ? settings.instance.value : settings.instance.name},
      {marks::spec_json, write_spec(spec)},
      {marks::kernel, plan.kernel == Kernel::own ? "own" : "elsewhere"},
      {marks::uid, std::to_string(plan.uid)},
      {marks::passwd, with_passwd_line(base_passwd, user)},
      {marks::group, with_group_line(base_group, user)}};
  json::object metadata{{"name", plan.name}, {"namespace", settings.namespace_name}};
  metadata["labels"] = std::move(labels);
  metadata["annotations"] = annotations;
  json::object body{{"apiVersion", "v1"}, {"kind", "Pod"}};
  body["metadata"] = std::move(metadata);
  body["spec"] = pod_spec(spec, plan, settings);
  return body;
}

}  // namespace cloche::kubernetes
