#include "backend/kubernetes/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/file_error.hpp"

namespace cloche {

namespace {

constexpr const char* account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr const char* usual_namespace = "default";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string given_or_variable_of(const std::string& given, const char* name) {
  return given.empty() ? variable(name) : given;
}

Result<std::string> read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return fail(ErrorCode::invalid_argument, "cannot read the kubeconfig " + path);
  return text;
}

// The paths of a list such as KUBECONFIG. Those that do not exist are left out, as by kubectl, unless it is a single
// one.
std::vector<std::string> paths_in(const std::string& list) {
  std::vector<std::string> paths;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t end = std::min(list.find(':', from), list.size());
    if (end > from) paths.push_back(list.substr(from, end - from));
    from = end + 1;
  }
  if (paths.size() > 1) std::erase_if(paths, [](const auto& path) { return ::access(path.c_str(), F_OK) != 0; });
  return paths;
}

Result<std::optional<kubernetes::ClusterAccess>> find_access(const KubernetesOptions& options) {
  std::string list = given_or_variable_of(options.kubeconfig, "KUBECONFIG");
  if (list.empty()) {
    const std::string home = variable("HOME");
    const std::string usual = home + "/.kube/config";
    if (!home.empty() && ::access(usual.c_str(), F_OK) == 0) list = usual;
  }
  if (list.empty()) return kubernetes::service_account_access();
  std::vector<kubernetes::KubeconfigText> texts;
  for (const std::string& path : paths_in(list)) {
    CLOCHE_TRY(std::string text, read_whole(path));
    texts.push_back({std::move(text), std::filesystem::absolute(path).parent_path().string()});
  }
  auto access = kubernetes::read_kubeconfig(texts, given_or_variable_of(options.context, "CLOCHE_KUBERNETES_CONTEXT"));
  if (!access) return fail(std::move(access).error().at(list));
  return std::optional(std::move(*access));
}

bool is_label_value(std::string_view text) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && text.size() <= 63 && std::isalnum(static_cast<unsigned char>(text.front())) &&
         std::isalnum(static_cast<unsigned char>(text.back())) && std::ranges::all_of(text, fits);
}

}  // namespace

Result<KubernetesSettings> kubernetes_settings(const KubernetesOptions& options) {
  KubernetesSettings settings;
  CLOCHE_TRY(settings.access, find_access(options));
  settings.namespace_name = given_or_variable_of(options.namespace_name, "CLOCHE_KUBERNETES_NAMESPACE");
  if (settings.namespace_name.empty() && settings.access) settings.namespace_name = settings.access->namespace_name;
  if (settings.namespace_name.empty()) settings.namespace_name = usual_namespace;
  settings.agent_image = given_or_variable_of(options.agent_image, "CLOCHE_KUBERNETES_AGENT_IMAGE");
  settings.pull_policy = options.image_pull_policy;
  settings.pull_secrets = options.image_pull_secrets;
  settings.agent_volume = options.agent_volume;
  settings.node_selector = options.node_selector;
  settings.tolerations = options.tolerations;
  return settings;
}

namespace kubernetes {

std::optional<ClusterAccess> service_account_access() {
  const std::string host = variable("KUBERNETES_SERVICE_HOST");
  const std::string port = variable("KUBERNETES_SERVICE_PORT");
  const std::string token = std::string(account_dir) + "/token";
  if (host.empty() || port.empty() || ::access(token.c_str(), R_OK) != 0) return std::nullopt;
  ClusterAccess access;
  access.context = "service account";
  access.server = "https://" + (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
  access.authority = std::string(account_dir) + "/ca.crt";
  access.token_file = token;
  std::ifstream name(std::string(account_dir) + "/namespace");
  std::getline(name, access.namespace_name);
  return access;
}

Status validate(const KubernetesSettings& settings) {
  if (!is_label_value(settings.instance.value)) {
    return fail(ErrorCode::invalid_argument,
                "an instance id must be letters, digits, '-', '_' and '.': '" + shown(settings.instance.value) + "'");
  }
  if (!is_object_name(settings.namespace_name) || settings.namespace_name.size() > 63) {
    return fail(ErrorCode::invalid_argument, "invalid namespace '" + shown(settings.namespace_name) +
                                                 "': expected lower-case letters, digits and '-'");
  }
  const std::string& policy = settings.pull_policy;
  if (!policy.empty() && policy != "Always" && policy != "IfNotPresent" && policy != "Never") {
    return fail(ErrorCode::invalid_argument,
                "invalid image pull policy '" + shown(policy) + "': expected Always, IfNotPresent or Never");
  }
  return {};
}

std::string missing_setting(const KubernetesSettings& settings) {
  if (!settings.access) return "no cluster is configured: set KUBECONFIG or `kubernetes.kubeconfig`";
  if (settings.agent_image.empty()) {
    return "the image of the agent is not set: set CLOCHE_KUBERNETES_AGENT_IMAGE or `kubernetes.agent_image`";
  }
  return "";
}

}  // namespace kubernetes
}  // namespace cloche
